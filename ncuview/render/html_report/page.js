"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");

  const remembered = {
    read(key) { try { return localStorage.getItem(key); } catch { return null; } },
    write(key, value) { try { localStorage.setItem(key, value); } catch { /* private window or sandbox */ } },
  };

  function useTheme(name) {
    if (name === "light" || name === "dark") root.dataset.theme = name;
    else delete root.dataset.theme;
  }
  useTheme(remembered.read("ncuview-theme"));

  function themes() {
    const choice = document.getElementById("theme");
    choice.value = root.dataset.theme || "system";
    choice.addEventListener("change", () => {
      useTheme(choice.value);
      remembered.write("ncuview-theme", choice.value);
    });
  }

  // The entries to sort and filter. A table with one part looks like a table of rows, so the markup names the kind.
  function entries(table) {
    return [...(table.dataset.sortable === "parts" ? table.tBodies : table.tBodies[0].rows)];
  }

  function cell(entry, at) {
    return (entry.rows ? entry.rows[0] : entry).cells[at];
  }

  function sortable(table) {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, at) => {
      if (!("sort" in heading.dataset)) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => {
        const now = heading.getAttribute("aria-sort");
        const first = heading.dataset.sort === "falling" ? "descending" : "ascending";
        const other = first === "ascending" ? "descending" : "ascending";
        for (const each of headings) each.removeAttribute("aria-sort");
        heading.setAttribute("aria-sort", now === first ? other : first);
        sort(table, at, heading.getAttribute("aria-sort") === "ascending" ? 1 : -1);
      });
    });
  }

  function sort(table, at, direction) {
    const keyed = entries(table).map((entry) => {
      const found = cell(entry, at);
      const value = found.dataset.value;
      return { entry, key: value === undefined ? found.textContent.trim() : value === "" ? NaN : Number(value) };
    });
    const unknown = (key) => Number.isNaN(key) || key === "";
    keyed.sort((one, two) => {
      if (unknown(one.key) || unknown(two.key)) return unknown(one.key) - unknown(two.key);
      if (typeof one.key === "number") return direction * (one.key - two.key);
      return direction * one.key.localeCompare(two.key, "en", { numeric: true });
    });
    const place = keyed.length && keyed[0].entry.parentNode;
    if (place) place.append(...keyed.map((each) => each.entry));
  }

  function filters(form) {
    const table = document.getElementById(form.dataset.filters);
    const all = entries(table);
    const words = new Map(all.map((entry) => {
      const row = entry.rows ? entry.rows[0] : entry;
      return [entry, `${row.textContent} ${entry.dataset.words || ""}`.toLowerCase()];
    }));
    const search = form.querySelector("input[type=search]");
    const choices = [...form.querySelectorAll("select")];
    const output = form.querySelector("output");
    const none = document.getElementById(`${table.id}-none`);
    function apply() {
      const wanted = search ? search.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
      let left = 0;
      for (const entry of all) {
        const fits = wanted.every((word) => words.get(entry).includes(word))
          && choices.every((choice) => !choice.value || entry.dataset[choice.name] === choice.value);
        entry.hidden = !fits;
        left += fits;
      }
      const asked = wanted.length || choices.some((choice) => choice.value);
      output.textContent = asked ? `${left} of ${all.length}` : `All ${all.length}`;
      if (none) none.hidden = left > 0;
    }
    form.addEventListener("input", apply);
    form.addEventListener("reset", () => setTimeout(apply));
    form.addEventListener("submit", (event) => event.preventDefault());
    apply();
    return apply;
  }

  function expand(button, open) {
    const part = document.getElementById(button.getAttribute("aria-controls"));
    button.setAttribute("aria-expanded", String(open));
    part.classList.toggle("open", open);
    if (open) part.dispatchEvent(new CustomEvent("opened", { bubbles: true }));
  }

  function expandable(button) {
    button.addEventListener("click", () => expand(button, button.getAttribute("aria-expanded") !== "true"));
  }

  // A link to an element that is closed or filtered out opens it.
  function reveal() {
    let target = null;
    try { target = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch { return; }
    const entry = target && target.closest("tbody");
    if (!entry) return;
    if (entry.hidden) {
      for (const form of document.querySelectorAll("form[data-filters]")) form.reset();
      entry.hidden = false;
    }
    const button = target.matches("[aria-controls]") ? target : target.querySelector("[aria-controls]");
    if (!button) return;
    expand(button, true);
    button.focus({ preventScroll: true });
    target.scrollIntoView({ block: "start" });
  }

  function points(chart) {
    const links = [...chart.querySelectorAll("a")];
    const readout = chart.parentNode.querySelector(".readout");
    const rest = readout.textContent;
    let current = 0;
    function stop(at) {
      links[current].setAttribute("tabindex", "-1");
      current = (at + links.length) % links.length;
      links[current].setAttribute("tabindex", "0");
    }
    const say = (link) => { readout.textContent = link ? link.getAttribute("aria-label") : rest; };
    links.forEach((link, at) => {
      link.setAttribute("tabindex", at ? "-1" : "0");
      link.addEventListener("focus", () => { stop(at); say(link); });
      link.addEventListener("blur", () => say(null));
      link.addEventListener("pointerenter", () => say(link));
      link.addEventListener("pointerleave", () => say(links.includes(document.activeElement) ? document.activeElement : null));
    });
    chart.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
      const to = event.key === "Home" ? 0 : event.key === "End" ? links.length - 1 : current + (steps[event.key] || NaN);
      if (Number.isNaN(to)) return;
      event.preventDefault();
      stop(to);
      links[current].focus();
    });
  }

  // Paper cannot be opened: parts that are marked for it are printed open.
  function printed() {
    let opened = [];
    window.addEventListener("beforeprint", () => {
      opened = [...document.querySelectorAll("details[data-print]:not([open])")];
      for (const each of opened) each.open = true;
    });
    window.addEventListener("afterprint", () => {
      for (const each of opened) each.open = false;
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    themes();
    printed();
    for (const table of document.querySelectorAll("table[data-sortable]")) sortable(table);
    for (const form of document.querySelectorAll("form[data-filters]")) filters(form);
    for (const button of document.querySelectorAll("button[aria-controls]")) expandable(button);
    for (const chart of document.querySelectorAll("svg[data-points]")) if (chart.querySelector("a")) points(chart);
    window.addEventListener("hashchange", reveal);
    document.addEventListener("click", (event) => {
      const link = event.target.closest && event.target.closest("a[href]");
      // Following the same link twice does not change the hash.
      if (link && (link.getAttribute("href") || "") === location.hash) reveal();
    });
    reveal();
  });
})();
