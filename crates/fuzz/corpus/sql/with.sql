WITH w AS (SELECT time_bucket('1 hour', time) AS h, avg(x) AS a FROM t GROUP BY 1) SELECT h, a, lag(a) OVER (ORDER BY h) FROM w JOIN u ON u.a = CAST(w.a AS INT); -- comment
/* more */ SELECT 1 IN (1, NULL), CASE WHEN true THEN 'x' ELSE NULL END
