(() => {
  let data = null;
  const known = () => (data ??= JSON.parse(document.getElementById("data").textContent));

  function make(tag, text, css) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (css) made.className = css;
    return made;
  }

  function table(names, css) {
    const made = make("table", undefined, css);
    const head = made.createTHead().insertRow();
    for (const name of names) {
      const heading = make("th", name);
      heading.scope = "col";
      head.append(heading);
    }
    return [made, made.createTBody()];
  }

  function metrics(id, part) {
    const { texts, kernels } = known();
    const places = kernels[id].metrics;
    const [made, body] = table(["metric", "value", "definition"], "metric-table");
    for (let at = 0; at < places.length; at += 4) {
      const [name, value, meaning, source] = places.slice(at, at + 4).map((place) => texts[place]);
      const line = body.insertRow();
      const heading = make("th", name);
      heading.scope = "row";
      const cell = make("td", meaning);
      cell.append(make("small", source, "dim"));
      line.append(heading, make("td", value, "number"), cell);
    }
    part.querySelector("p").replaceWith(made);
  }

  const percent = (thousandths) => (thousandths ? `${thousandths < 10 ? "<1" : Math.round(thousandths / 10)}%` : "");
  const step = (thousandths) => (thousandths > 20 ? Math.min(10, Math.ceil((thousandths - 20) / 100)) : 0);

  function lines(id, part) {
    const { kernels, files } = known();
    const ofKernel = kernels[id].lines || [];
    if (!ofKernel.length) return;
    const fold = make("details");
    fold.append(make("summary", "Every line: waste, executed instructions, samples"));
    for (const [key, rows, ranges] of ofKernel) {
      const [name, texts] = files[key];
      const heat = new Map(rows.map((row) => [row[0], row.slice(1)]));
      const [made, body] = table(["waste", "executed", "samples", "line", "code"], "code heated");
      for (const [first, last] of ranges) for (let at = first; at <= last; at += 1) {
        const line = body.insertRow();
        if (at === first && first !== ranges[0][0]) line.className = "gap";
        for (const share of heat.get(at) || [0, 0, 0]) {
          line.append(make("td", percent(share), `heat number h${step(share)}`));
        }
        const code = make("td");
        code.append(make("code", texts[at]));
        line.append(make("td", String(at), "number dim"), code);
      }
      const scrolled = make("div", undefined, "scrolled");
      scrolled.tabIndex = 0;
      scrolled.setAttribute("role", "group");
      scrolled.setAttribute("aria-label", `Source of ${name}`);
      scrolled.append(made);
      fold.append(make("p", name, "place"), scrolled);
    }
    part.replaceChildren(fold);
  }

  function fillLines(row) {
    const part = row.querySelector(".lines");
    if (part && !part.dataset.filled) {
      part.dataset.filled = "yes";
      lines(row.id.replace("-details", ""), part);
    }
  }

  // With the mouse, every part of a row opens it; its button works with the keyboard too.
  document.addEventListener("click", (event) => {
    const row = event.target.closest(".kernels > tbody > tr:first-child");
    if (row && !event.target.closest("a, button") && !String(getSelection())) row.querySelector(".expand").click();
  });

  document.addEventListener("opened", (event) => fillLines(event.target));
  document.addEventListener("DOMContentLoaded", () => {
    for (const part of document.querySelectorAll(".alone")) fillLines(part);
  });
  document.addEventListener("toggle", (event) => {
    const part = event.target;
    if (!part.matches || !part.matches("details.metrics") || !part.open || part.dataset.filled) return;
    part.dataset.filled = "yes";
    metrics(part.closest(".opens").id.replace("-details", ""), part);
  }, true);
})();
