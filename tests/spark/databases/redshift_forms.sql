-- VARCHAR(length=9)
collate({} || '.', 'case_sensitive')
trim(lower(CASE WHEN regexp_instr(left(v, len(v) - 1), '[	--]|  ', 1, 1, 0, 'p') > 0 THEN regexp_replace(left(v, len(v) - 1), '[	-- ]+', ' ', 1, 'p') ELSE left(v, len(v) - 1) END))
octet_length(left(v, len(v) - 1)) <> char_length(left(v, len(v) - 1)) OR octet_length(left(v, len(v) - 1)) > 1048576
left(v, len(v) - 1)
-- CHAR(length=9)
collate(CAST({} AS varchar(4096)), 'case_sensitive')
trim(lower(CASE WHEN regexp_instr(v, '[	--]|  ', 1, 1, 0, 'p') > 0 THEN regexp_replace(v, '[	-- ]+', ' ', 1, 'p') ELSE v END))
octet_length(v) <> char_length(v) OR octet_length(v) > 1048576
rpad(v, 9)
-- CHAR()
collate(CAST({} AS varchar(4096)), 'case_sensitive')
trim(lower(CASE WHEN regexp_instr(v, '[	--]|  ', 1, 1, 0, 'p') > 0 THEN regexp_replace(v, '[	-- ]+', ' ', 1, 'p') ELSE v END))
octet_length(v) <> char_length(v) OR octet_length(v) > 1048576
v
-- Boolean()
{}
CASE WHEN v THEN 'true' WHEN NOT v THEN 'false' END
false
f
-- Integer()
{}
CAST(v AS varchar(64))
false
f
-- Numeric(precision=12, scale=2)
{}
CASE WHEN position('.' IN CAST(v AS varchar(64))) > 0 THEN rtrim(rtrim(CAST(v AS varchar(64)), '0'), '.') ELSE CAST(v AS varchar(64)) END
false
f
-- Float()
{}
CASE WHEN position('.' IN CAST(CASE WHEN abs(v) < 1e6 THEN CAST(CAST(v AS float8) + sign(v) * 25e-11 AS decimal(16, 9)) WHEN abs(v) < 1e9 THEN CAST(CAST(v AS float8) + sign(v) * 25e-8 AS decimal(16, 6)) WHEN abs(v) < 1e12 THEN CAST(CAST(v AS float8) + sign(v) * 25e-5 AS decimal(16, 3)) WHEN abs(v) < 1e15 THEN CAST(CAST(v AS float8) + sign(v) * 25e-2 AS decimal(16, 0)) END AS varchar(64))) > 0 THEN rtrim(rtrim(CAST(CASE WHEN abs(v) < 1e6 THEN CAST(CAST(v AS float8) + sign(v) * 25e-11 AS decimal(16, 9)) WHEN abs(v) < 1e9 THEN CAST(CAST(v AS float8) + sign(v) * 25e-8 AS decimal(16, 6)) WHEN abs(v) < 1e12 THEN CAST(CAST(v AS float8) + sign(v) * 25e-5 AS decimal(16, 3)) WHEN abs(v) < 1e15 THEN CAST(CAST(v AS float8) + sign(v) * 25e-2 AS decimal(16, 0)) END AS varchar(64)), '0'), '.') ELSE CAST(CASE WHEN abs(v) < 1e6 THEN CAST(CAST(v AS float8) + sign(v) * 25e-11 AS decimal(16, 9)) WHEN abs(v) < 1e9 THEN CAST(CAST(v AS float8) + sign(v) * 25e-8 AS decimal(16, 6)) WHEN abs(v) < 1e12 THEN CAST(CAST(v AS float8) + sign(v) * 25e-5 AS decimal(16, 3)) WHEN abs(v) < 1e15 THEN CAST(CAST(v AS float8) + sign(v) * 25e-2 AS decimal(16, 0)) END AS varchar(64)) END
NOT abs(v) < 1e15 OR CAST(CASE WHEN abs(v) < 1e6 THEN CAST(CAST(v AS float8) + sign(v) * 25e-11 AS decimal(16, 9)) WHEN abs(v) < 1e9 THEN CAST(CAST(v AS float8) + sign(v) * 25e-8 AS decimal(16, 6)) WHEN abs(v) < 1e12 THEN CAST(CAST(v AS float8) + sign(v) * 25e-5 AS decimal(16, 3)) WHEN abs(v) < 1e15 THEN CAST(CAST(v AS float8) + sign(v) * 25e-2 AS decimal(16, 0)) END AS float8) <> v
f
-- REAL()
{}
CASE WHEN position('.' IN CAST(CASE WHEN abs(v) < 1e0 THEN CAST(CAST(v AS float8) + sign(v) * 25e-8 AS decimal(7, 6)) WHEN abs(v) < 1e2 THEN CAST(CAST(v AS float8) + sign(v) * 25e-6 AS decimal(7, 4)) WHEN abs(v) < 1e4 THEN CAST(CAST(v AS float8) + sign(v) * 25e-4 AS decimal(7, 2)) WHEN abs(v) < 1e6 THEN CAST(CAST(v AS float8) + sign(v) * 25e-2 AS decimal(7, 0)) END AS varchar(64))) > 0 THEN rtrim(rtrim(CAST(CASE WHEN abs(v) < 1e0 THEN CAST(CAST(v AS float8) + sign(v) * 25e-8 AS decimal(7, 6)) WHEN abs(v) < 1e2 THEN CAST(CAST(v AS float8) + sign(v) * 25e-6 AS decimal(7, 4)) WHEN abs(v) < 1e4 THEN CAST(CAST(v AS float8) + sign(v) * 25e-4 AS decimal(7, 2)) WHEN abs(v) < 1e6 THEN CAST(CAST(v AS float8) + sign(v) * 25e-2 AS decimal(7, 0)) END AS varchar(64)), '0'), '.') ELSE CAST(CASE WHEN abs(v) < 1e0 THEN CAST(CAST(v AS float8) + sign(v) * 25e-8 AS decimal(7, 6)) WHEN abs(v) < 1e2 THEN CAST(CAST(v AS float8) + sign(v) * 25e-6 AS decimal(7, 4)) WHEN abs(v) < 1e4 THEN CAST(CAST(v AS float8) + sign(v) * 25e-4 AS decimal(7, 2)) WHEN abs(v) < 1e6 THEN CAST(CAST(v AS float8) + sign(v) * 25e-2 AS decimal(7, 0)) END AS varchar(64)) END
NOT abs(v) < 1e6 OR CAST(CAST(CASE WHEN abs(v) < 1e0 THEN CAST(CAST(v AS float8) + sign(v) * 25e-8 AS decimal(7, 6)) WHEN abs(v) < 1e2 THEN CAST(CAST(v AS float8) + sign(v) * 25e-6 AS decimal(7, 4)) WHEN abs(v) < 1e4 THEN CAST(CAST(v AS float8) + sign(v) * 25e-4 AS decimal(7, 2)) WHEN abs(v) < 1e6 THEN CAST(CAST(v AS float8) + sign(v) * 25e-2 AS decimal(7, 0)) END AS float8) AS real) <> v
f
-- Date()
{}
to_char(v, 'YYYY-MM-DD')
(v < CAST('0001-01-02' AS date) OR v > CAST('9999-12-30' AS date))
f
-- DateTime()
{}
CASE WHEN substring(to_char(v, 'YYYY-MM-DD HH24:MI:SS.US'), 12, 65535) = '00:00:00.000000' THEN left(to_char(v, 'YYYY-MM-DD HH24:MI:SS.US'), 10) ELSE rtrim(rtrim(to_char(v, 'YYYY-MM-DD HH24:MI:SS.US'), '0'), '.') END
(v < CAST('0001-01-02' AS date) OR v > CAST('9999-12-30' AS date))
to_char(v, 'YYYY-MM-DD HH24:MI:SS.US')
-- DateTime(timezone=True)
{}
CASE WHEN substring(to_char((v AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), 12, 65535) = '00:00:00.000000' THEN left(to_char((v AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), 10) ELSE rtrim(rtrim(to_char((v AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US'), '0'), '.') END
((v AT TIME ZONE 'UTC') < CAST('0001-01-02' AS date) OR (v AT TIME ZONE 'UTC') > CAST('9999-12-30' AS date))
to_char((v AT TIME ZONE 'UTC'), 'YYYY-MM-DD HH24:MI:SS.US')
-- normal form of a text
CASE WHEN CASE WHEN f >= '-' AND f < ':' THEN regexp_instr(f, '^-?(?:0|[1-9][0-9]*)\\.0+$|^-0$|^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])[t ]', 1, 1, 0, 'p') > 0 END THEN regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(f, '^(-?(?:0|[1-9][0-9]*))\\.0+$', '$1', 1, 'p'), '^-0$', '0', 1, 'p'), '^([0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01]))[t ]((?:[01][0-9]|2[0-3]):[0-5][0-9])(?:z|\\+00(?::?00)?)?$', '$1 $2:00', 1, 'p'), '^([0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01]))[t ]((?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])(?:(\\.[0-9]*[1-9])0*|\\.0+)?(?:z|\\+00(?::?00)?)?$', '$1 $2$3', 1, 'p'), '^([0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])) 00:00:00$', '$1', 1, 'p') ELSE f END
