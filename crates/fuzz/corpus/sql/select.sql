SELECT tag, max(x) FILTER (WHERE n > 1), count(*) FROM t WHERE time >= '2024-01-01' AND tag LIKE 'a%' GROUP BY tag HAVING count(*) > 2 ORDER BY 2 DESC LIMIT 5;
