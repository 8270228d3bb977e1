-- The questions of a store as views over its tables; `ncuview store` prints them, `store sql` joins and filters them.
--
-- Launches are comparable only where clock_control, cache_control and replay_mode agree: every view has these columns,
-- and no row of a view is computed from launches that differ in them. A kernel is recognised by its name with
-- namespaces (function) and its template arguments; `name` is both.
--
-- What a window reads is MATERIALIZED: DuckDB makes a join of a window, and would read the launches twice.
--
-- Medians and outliers are of launches by `series`: to read, hash and compare one number takes a third of the time of the
-- columns that it stands for. These, and what can be added up, are read from `sums`, which has fewer rows.

-- The launches of each kernel by their next step, if they have one: what `top_kernels` and `top_advice` are sums of.
CREATE OR REPLACE VIEW advised AS
SELECT
    clock_control, cache_control, replay_mode, gpu, function, template_arguments, rule, optimization,
    sum(launches)::BIGINT AS launches,
    sum(time_ns) AS time_ns,
    sum(saved_ns) AS saved_ns,
    max(most_saved_ns) AS most_saved_ns
FROM sums
GROUP BY ALL;

-- `top_kernels` and `top_advice`; `source` is the name of `advised`, or of a table that has its rows.
CREATE OR REPLACE MACRO top_kernels_of(source) AS TABLE
WITH grouped AS MATERIALIZED (
    SELECT
        clock_control, cache_control, replay_mode, gpu, function, template_arguments,
        sum(launches)::BIGINT AS launches,
        sum(time_ns) AS time_ns,
        sum(saved_ns) AS saved_ns,
        arg_max(rule, most_saved_ns) AS rule
    FROM query_table(source)
    GROUP BY ALL
)
SELECT
    clock_control, cache_control, replay_mode, gpu,
    function || coalesce(template_arguments, '') AS name,
    launches, time_ns,
    time_ns / sum(time_ns) OVER (PARTITION BY clock_control, cache_control, replay_mode) AS share,
    saved_ns, rule
FROM grouped;
-- Where the GPU time goes.
CREATE OR REPLACE VIEW top_kernels AS FROM top_kernels_of('advised');

-- Which lines of programs it goes to.
CREATE OR REPLACE VIEW top_calls AS
WITH grouped AS MATERIALIZED (
    SELECT
        r.clock_control, r.cache_control, r.replay_mode, c.gpu, c.file, c.line, c.function,
        any_value(c.operator) AS operator,
        sum(c.launches) AS launches,
        sum(c.time_ns) AS time_ns,
        count(*) AS reports
    FROM calls AS c
    JOIN reports AS r ON c.report = r.report AND c.gpu IS NOT DISTINCT FROM r.gpu
    GROUP BY ALL
)
SELECT
    clock_control, cache_control, replay_mode, gpu, file, line, function, operator,
    launches, time_ns,
    time_ns / sum(time_ns) OVER (PARTITION BY clock_control, cache_control, replay_mode) AS share,
    reports
FROM grouped;

CREATE OR REPLACE MACRO top_advice_of(source) AS TABLE
SELECT
    clock_control, cache_control, replay_mode, gpu, 'kernel' AS about, rule, optimization,
    sum(launches)::BIGINT AS findings,
    sum(saved_ns) AS saved_ns,
    arg_max(function, most_saved_ns) AS most_in
FROM query_table(source)
WHERE rule IS NOT NULL
GROUP BY ALL
UNION ALL
SELECT
    r.clock_control, r.cache_control, r.replay_mode, f.gpu, 'program', f.rule, f.optimization,
    count(*), sum(f.saved_ns), arg_max(f.file, f.saved_ns)
FROM findings AS f
JOIN reports AS r ON f.report = r.report AND f.gpu IS NOT DISTINCT FROM r.gpu
WHERE f.launch IS NULL AND f.rank > 0
GROUP BY ALL;
-- Which advice saves most: the next step of each launch, and the findings about programs.
CREATE OR REPLACE VIEW top_advice AS FROM top_advice_of('advised');

-- The launches whose time says something.
CREATE OR REPLACE VIEW timed AS
SELECT *
FROM launches
WHERE duration_ns > 0 AND waits_for_peers IS NOT TRUE;

-- The time of each kernel and configuration at each point: a commit, date or build, with a driver and an ncu version.
CREATE OR REPLACE VIEW history AS
SELECT
    clock_control, cache_control, replay_mode, gpu, kernel, function, template_arguments,
    grid_x, grid_y, grid_z, block_x, block_y, block_z,
    point, cuda_version, ncu_version,
    min(created) AS created,
    count(*) AS launches,
    median(duration_ns) AS time_ns,
    list_sort(list(DISTINCT code)) AS codes
FROM timed
GROUP BY ALL;

-- The launches of each series whose time says something, and what `series` stands for. `kernels` are bare names, NULL for
-- all: they are compared as the files are read.
CREATE OR REPLACE MACRO totals_of(kernels) AS TABLE
SELECT
    series,
    any_value(clock_control) AS clock_control,
    any_value(cache_control) AS cache_control,
    any_value(replay_mode) AS replay_mode,
    any_value(gpu) AS gpu,
    any_value(kernel) AS kernel,
    any_value(function) AS function,
    any_value(template_arguments) AS template_arguments,
    any_value(grid_x) AS grid_x,
    any_value(grid_y) AS grid_y,
    any_value(grid_z) AS grid_z,
    any_value(block_x) AS block_x,
    any_value(block_y) AS block_y,
    any_value(block_z) AS block_z,
    sum(timed)::BIGINT AS launches,
    sum(timed_ns) AS total_ns
FROM sums
WHERE kernels IS NULL OR kernel IN kernels
GROUP BY series
HAVING sum(timed) > 0;

-- The macros of the views `compare_*`: the groups of most time are chosen by their sums, so that medians are of these
-- alone. `most` is how many rows of equal settings are needed, NULL for all; `of_settings` is how many there are.

CREATE OR REPLACE MACRO compare_gpu_of(kernels, most) AS TABLE
WITH grouped AS (
    SELECT *, sum(total_ns) OVER same AS group_ns
    FROM totals_of(kernels)
    WINDOW same AS (
        PARTITION BY clock_control, cache_control, replay_mode, kernel, function, template_arguments,
        grid_x, grid_y, grid_z, block_x, block_y, block_z
    )
    QUALIFY count(*) OVER same > 1
),
chosen AS MATERIALIZED (
    SELECT *, count(*) OVER settings AS of_settings
    FROM grouped
    WINDOW settings AS (PARTITION BY clock_control, cache_control, replay_mode)
    QUALIFY most IS NULL OR rank() OVER (settings ORDER BY group_ns DESC) <= most
),
times AS (
    SELECT series, median(duration_ns) AS time_ns
    FROM timed
    WHERE series IN (SELECT series FROM chosen) AND (kernels IS NULL OR kernel IN kernels)
    GROUP BY ALL
)
SELECT
    clock_control, cache_control, replay_mode, kernel, function, template_arguments,
    function || coalesce(template_arguments, '') AS name,
    grid_x, grid_y, grid_z, block_x, block_y, block_z, gpu, launches, time_ns,
    time_ns / min(time_ns) OVER (
        PARTITION BY clock_control, cache_control, replay_mode, kernel, function, template_arguments,
        grid_x, grid_y, grid_z, block_x, block_y, block_z
    ) AS ratio,
    group_ns, of_settings
FROM chosen
JOIN times USING (series);
-- The same kernel and configuration on several GPU models; ratio is to the fastest.
CREATE OR REPLACE VIEW compare_gpu AS SELECT * EXCLUDE (of_settings) FROM compare_gpu_of(NULL, NULL);

CREATE OR REPLACE MACRO compare_shape_of(kernels, most) AS TABLE
WITH grouped AS (
    SELECT *, sum(total_ns) OVER same AS group_ns
    FROM totals_of(kernels)
    WINDOW same AS (PARTITION BY clock_control, cache_control, replay_mode, gpu, kernel, function, template_arguments)
    QUALIFY count(*) OVER same > 1
),
chosen AS MATERIALIZED (
    SELECT *, count(*) OVER settings AS of_settings
    FROM grouped
    WINDOW settings AS (PARTITION BY clock_control, cache_control, replay_mode)
    QUALIFY most IS NULL OR rank() OVER (settings ORDER BY group_ns DESC) <= most
),
times AS (
    SELECT series, median(duration_ns) AS time_ns
    FROM timed
    WHERE series IN (SELECT series FROM chosen) AND (kernels IS NULL OR kernel IN kernels)
    GROUP BY ALL
)
SELECT
    clock_control, cache_control, replay_mode, gpu, kernel, function, template_arguments,
    function || coalesce(template_arguments, '') AS name,
    grid_x, grid_y, grid_z, block_x, block_y, block_z, launches, time_ns,
    time_ns / min(time_ns) OVER (
        PARTITION BY clock_control, cache_control, replay_mode, gpu, kernel, function, template_arguments
    ) AS ratio,
    time_ns / nullif(grid_x::DOUBLE * grid_y * grid_z, 0) AS ns_per_block,
    group_ns, of_settings
FROM chosen
JOIN times USING (series);
-- The same kernel on one GPU model in several configurations; ratio is to the fastest.
CREATE OR REPLACE VIEW compare_shape AS SELECT * EXCLUDE (of_settings) FROM compare_shape_of(NULL, NULL);

CREATE OR REPLACE MACRO compare_rank_of(kernels, most) AS TABLE
WITH of_series AS (
    SELECT series, sum(ranked_ns) AS group_ns, len(list_distinct(flatten(list(ranks)))) AS several
    FROM sums
    WHERE ranks IS NOT NULL AND (kernels IS NULL OR kernel IN kernels)
    GROUP BY series
    HAVING several > 1
),
sized AS (
    SELECT
        totals.* EXCLUDE (launches, total_ns), group_ns,
        sum(several) OVER settings AS of_settings,
        sum(several) OVER (settings ORDER BY group_ns DESC RANGE UNBOUNDED PRECEDING EXCLUDE GROUP) AS before
    FROM of_series
    JOIN totals_of(kernels) AS totals USING (series)
    WINDOW settings AS (PARTITION BY clock_control, cache_control, replay_mode)
),
chosen AS MATERIALIZED (FROM sized WHERE most IS NULL OR coalesce(before, 0) < most),
times AS MATERIALIZED (
    SELECT series, rank, count(*) AS launches, median(duration_ns) AS time_ns
    FROM timed
    WHERE rank IS NOT NULL AND series IN (SELECT series FROM chosen) AND (kernels IS NULL OR kernel IN kernels)
    GROUP BY ALL
),
usual AS (SELECT series, median(time_ns) AS usual_ns FROM times GROUP BY ALL)
SELECT
    clock_control, cache_control, replay_mode, gpu, kernel, function, template_arguments,
    function || coalesce(template_arguments, '') AS name,
    grid_x, grid_y, grid_z, block_x, block_y, block_z, rank, launches, time_ns,
    time_ns / usual_ns AS ratio,
    group_ns, of_settings
FROM times
JOIN usual USING (series)
JOIN chosen USING (series);
-- The same kernel and configuration on several ranks; ratio is to the median of the ranks.
CREATE OR REPLACE VIEW compare_rank AS SELECT * EXCLUDE (of_settings) FROM compare_rank_of(NULL, NULL);

-- Launches far from the others of their kernel, code and configuration: outside of the quartiles by three times their
-- distance and by 20 %. Quartiles are read from a histogram with bins of 0.5 %, whose size does not grow with the
-- store; series and code are known by a hash of 64 bits. Most bins outside hold one launch or two, whose reports are
-- known then: only these are read a second time. A series whose longest and shortest times are within 20 % has none.
CREATE OR REPLACE VIEW outliers AS
WITH varied AS MATERIALIZED (
    SELECT series
    FROM sums
    GROUP BY series
    HAVING round(200 * ln(max(most_ns))) - round(200 * ln(min(least_ns))) > 36
),
binned AS NOT MATERIALIZED (
    SELECT
        *,
        hash(series, code) AS of_code,
        round(200 * ln(duration_ns))::INTEGER AS bin
    FROM timed
    WHERE series IN (SELECT series FROM varied)
),
bins AS (
    SELECT of_code, bin, count(*) AS launches, min(report) AS one, max(report) AS other FROM binned GROUP BY ALL
),
cumulated AS (
    SELECT
        of_code, bin,
        sum(launches) OVER (PARTITION BY of_code ORDER BY bin) AS up_to,
        sum(launches) OVER (PARTITION BY of_code) AS launches
    FROM bins
),
levels AS (
    SELECT
        of_code, launches,
        min(bin) FILTER (up_to >= 0.25 * launches) AS low,
        min(bin) FILTER (up_to >= 0.5 * launches) AS middle,
        min(bin) FILTER (up_to >= 0.75 * launches) AS high
    FROM cumulated
    GROUP BY ALL
    HAVING launches >= 8
),
outside AS MATERIALIZED (
    SELECT bins.*, levels.launches AS of_launches, middle
    FROM bins
    JOIN levels USING (of_code)
    WHERE bin > high + 3 * (high - low) + 36 OR bin < low - 3 * (high - low) - 36
),
few AS (FROM outside WHERE launches <= 2),
found AS (
    SELECT binned.*, of_launches, middle
    FROM binned
    JOIN few USING (of_code, bin)
    WHERE binned.report IN (SELECT one FROM few UNION ALL SELECT other FROM few)
    UNION ALL
    SELECT binned.*, of_launches, middle
    FROM binned
    JOIN (FROM outside WHERE launches > 2) USING (of_code, bin)
)
SELECT
    clock_control, cache_control, replay_mode, gpu, kernel,
    function || coalesce(template_arguments, '') AS name,
    grid_x, grid_y, grid_z, block_x, block_y, block_z,
    duration_ns AS time_ns,
    exp(middle / 200.0) AS usual_ns,
    duration_ns / exp(middle / 200.0) AS ratio,
    of_launches, point, rank, report, launch
FROM found;

-- Kernels that were launched on a GPU model and never judged there: no launch has counters and a verdict. `why` says
-- whether there were no counters, or the rules could not judge by those that there are.
CREATE OR REPLACE VIEW unprofiled AS
WITH grouped AS MATERIALIZED (
    SELECT
        clock_control, cache_control, replay_mode, gpu, function, template_arguments,
        any_value(owner) AS owner,
        sum(launches)::BIGINT AS launches,
        sum(time_ns) AS time_ns,
        sum(counted) AS counted,
        sum(judged) AS judged
    FROM sums
    GROUP BY ALL
)
SELECT
    clock_control, cache_control, replay_mode, gpu,
    function || coalesce(template_arguments, '') AS name,
    owner, launches, time_ns,
    time_ns / sum(time_ns) OVER (PARTITION BY clock_control, cache_control, replay_mode) AS share,
    CASE WHEN sum(counted) OVER same = 0 THEN 'no counters' ELSE 'not judged' END AS why
FROM grouped
WINDOW same AS (PARTITION BY gpu, function, template_arguments)
QUALIFY sum(judged) OVER same = 0;
