-- String()
CAST({} AS varchar)
trim(lower(CASE WHEN regexp_like(v, U&'[\0009-\000d\001c-\001f]|  ') THEN regexp_replace(v, U&'[\0009-\000d\001c-\001f ]+', ' ') ELSE v END))
length(to_utf8(v)) <> length(v) OR length(to_utf8(v)) > 1048576
-- Boolean()
{}
CAST(v AS varchar)
false
-- Integer()
{}
CAST(v AS varchar)
false
-- Numeric(precision=12, scale=2)
{}
CASE WHEN position('.' IN CAST(v AS varchar)) > 0 THEN trim(TRAILING '.' FROM trim(TRAILING '0' FROM CAST(v AS varchar))) ELSE CAST(v AS varchar) END
false
-- Float()
{}
CASE WHEN position('.' IN CAST(CASE WHEN abs(v) < 1e6 THEN CAST(v AS decimal(16, 9)) WHEN abs(v) < 1e9 THEN CAST(v AS decimal(16, 6)) WHEN abs(v) < 1e12 THEN CAST(v AS decimal(16, 3)) WHEN abs(v) < 1e15 THEN CAST(v AS decimal(16, 0)) END AS varchar)) > 0 THEN trim(TRAILING '.' FROM trim(TRAILING '0' FROM CAST(CASE WHEN abs(v) < 1e6 THEN CAST(v AS decimal(16, 9)) WHEN abs(v) < 1e9 THEN CAST(v AS decimal(16, 6)) WHEN abs(v) < 1e12 THEN CAST(v AS decimal(16, 3)) WHEN abs(v) < 1e15 THEN CAST(v AS decimal(16, 0)) END AS varchar))) ELSE CAST(CASE WHEN abs(v) < 1e6 THEN CAST(v AS decimal(16, 9)) WHEN abs(v) < 1e9 THEN CAST(v AS decimal(16, 6)) WHEN abs(v) < 1e12 THEN CAST(v AS decimal(16, 3)) WHEN abs(v) < 1e15 THEN CAST(v AS decimal(16, 0)) END AS varchar) END
NOT abs(v) < 1e15 OR CAST(CASE WHEN abs(v) < 1e6 THEN CAST(v AS decimal(16, 9)) WHEN abs(v) < 1e9 THEN CAST(v AS decimal(16, 6)) WHEN abs(v) < 1e12 THEN CAST(v AS decimal(16, 3)) WHEN abs(v) < 1e15 THEN CAST(v AS decimal(16, 0)) END AS double) <> v
-- REAL()
{}
CASE WHEN position('.' IN CAST(CASE WHEN abs(v) < 1e0 THEN CAST(v AS decimal(7, 6)) WHEN abs(v) < 1e2 THEN CAST(v AS decimal(7, 4)) WHEN abs(v) < 1e4 THEN CAST(v AS decimal(7, 2)) WHEN abs(v) < 1e6 THEN CAST(v AS decimal(7, 0)) END AS varchar)) > 0 THEN trim(TRAILING '.' FROM trim(TRAILING '0' FROM CAST(CASE WHEN abs(v) < 1e0 THEN CAST(v AS decimal(7, 6)) WHEN abs(v) < 1e2 THEN CAST(v AS decimal(7, 4)) WHEN abs(v) < 1e4 THEN CAST(v AS decimal(7, 2)) WHEN abs(v) < 1e6 THEN CAST(v AS decimal(7, 0)) END AS varchar))) ELSE CAST(CASE WHEN abs(v) < 1e0 THEN CAST(v AS decimal(7, 6)) WHEN abs(v) < 1e2 THEN CAST(v AS decimal(7, 4)) WHEN abs(v) < 1e4 THEN CAST(v AS decimal(7, 2)) WHEN abs(v) < 1e6 THEN CAST(v AS decimal(7, 0)) END AS varchar) END
NOT abs(v) < 1e6 OR CAST(CAST(CASE WHEN abs(v) < 1e0 THEN CAST(v AS decimal(7, 6)) WHEN abs(v) < 1e2 THEN CAST(v AS decimal(7, 4)) WHEN abs(v) < 1e4 THEN CAST(v AS decimal(7, 2)) WHEN abs(v) < 1e6 THEN CAST(v AS decimal(7, 0)) END AS double) AS real) <> v
-- Date()
{}
CAST(v AS varchar)
(v < DATE '0001-01-02' OR v > DATE '9999-12-30')
-- DateTime()
{}
CASE WHEN substr(CAST(CAST(v AS timestamp(6)) AS varchar), 12) = '00:00:00.000000' THEN substr(CAST(CAST(v AS timestamp(6)) AS varchar), 1, 10) ELSE trim(TRAILING '.' FROM trim(TRAILING '0' FROM CAST(CAST(v AS timestamp(6)) AS varchar))) END
(CAST(v AS timestamp(6)) < DATE '0001-01-02' OR CAST(v AS timestamp(6)) > DATE '9999-12-30') OR v <> CAST(v AS timestamp(6))
-- DateTime(timezone=True)
CAST(at_timezone({}, 'UTC') AS timestamp(12))
CASE WHEN substr(CAST(CAST(v AS timestamp(6)) AS varchar), 12) = '00:00:00.000000' THEN substr(CAST(CAST(v AS timestamp(6)) AS varchar), 1, 10) ELSE trim(TRAILING '.' FROM trim(TRAILING '0' FROM CAST(CAST(v AS timestamp(6)) AS varchar))) END
(CAST(v AS timestamp(6)) < DATE '0001-01-02' OR CAST(v AS timestamp(6)) > DATE '9999-12-30') OR v <> CAST(v AS timestamp(6))
-- Time()
{}
CASE WHEN substr(CAST(CAST(v AS time(6)) AS varchar), 9) = '.000000' THEN substr(CAST(CAST(v AS time(6)) AS varchar), 1, 8) ELSE CAST(CAST(v AS time(6)) AS varchar) END
v <> CAST(v AS time(6))
-- Uuid()
{}
CAST(v AS varchar)
false
-- normal form of a text
CASE WHEN CASE WHEN f >= '-' AND f < ':' THEN regexp_like(f, '^-?(?:0|[1-9][0-9]*)\.0+$|^-0$|^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])[t ]') END THEN regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(f, '^(-?(?:0|[1-9][0-9]*))\.0+$', '$1'), '^-0$', '0'), '^([0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01]))[t ]((?:[01][0-9]|2[0-3]):[0-5][0-9])(?:z|\+00(?::?00)?)?$', '$1 $2:00'), '^([0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01]))[t ]((?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])(?:(\.[0-9]*[1-9])0*|\.0+)?(?:z|\+00(?::?00)?)?$', '$1 $2$3'), '^([0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])) 00:00:00$', '$1') ELSE f END
