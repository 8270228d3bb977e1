"""A store of thousands of reports: Parquet files of reports, launches, metrics, findings, lines and calls.

What enters are diagnosed profiles, what leaves are tables to ask with SQL (DuckDB), Arrow or pandas. ``schema``
documents the tables. It must not know how a profile is read or judged, nor what is asked.
"""
