-- String
collate({}, '')
trim(lower(CASE WHEN regexp_instr(v, '[\x09-\x0d\x1c-\x1f]|  ') > 0 THEN regexp_replace(v, '[\x09-\x0d\x1c-\x1f ]+', ' ') ELSE v END))
octet_length(v) <> length(v) OR octet_length(v) > 1048576
-- Boolean
{}
collate(to_varchar(v), '')
false
-- Numeric
{}
collate(CASE WHEN position('.' IN to_varchar(v)) > 0 THEN rtrim(rtrim(to_varchar(v), '0'), '.') ELSE to_varchar(v) END, '')
false
-- Float
{}
collate(CASE WHEN position('.' IN to_varchar(CASE WHEN abs(v) < 1e6 THEN CAST(v AS NUMBER(16, 9)) WHEN abs(v) < 1e9 THEN CAST(v AS NUMBER(16, 6)) WHEN abs(v) < 1e12 THEN CAST(v AS NUMBER(16, 3)) WHEN abs(v) < 1e15 THEN CAST(v AS NUMBER(16, 0)) END)) > 0 THEN rtrim(rtrim(to_varchar(CASE WHEN abs(v) < 1e6 THEN CAST(v AS NUMBER(16, 9)) WHEN abs(v) < 1e9 THEN CAST(v AS NUMBER(16, 6)) WHEN abs(v) < 1e12 THEN CAST(v AS NUMBER(16, 3)) WHEN abs(v) < 1e15 THEN CAST(v AS NUMBER(16, 0)) END), '0'), '.') ELSE to_varchar(CASE WHEN abs(v) < 1e6 THEN CAST(v AS NUMBER(16, 9)) WHEN abs(v) < 1e9 THEN CAST(v AS NUMBER(16, 6)) WHEN abs(v) < 1e12 THEN CAST(v AS NUMBER(16, 3)) WHEN abs(v) < 1e15 THEN CAST(v AS NUMBER(16, 0)) END) END, '')
NOT abs(v) < 1e15 OR CAST(CASE WHEN abs(v) < 1e6 THEN CAST(v AS NUMBER(16, 9)) WHEN abs(v) < 1e9 THEN CAST(v AS NUMBER(16, 6)) WHEN abs(v) < 1e12 THEN CAST(v AS NUMBER(16, 3)) WHEN abs(v) < 1e15 THEN CAST(v AS NUMBER(16, 0)) END AS FLOAT) <> v
-- Date
{}
collate(to_char(v, 'YYYY-MM-DD'), '')
(v < '0001-01-02' OR v > '9999-12-30')
-- DateTime
{}
collate(CASE WHEN substr(to_char(CAST(v AS TIMESTAMP_NTZ), 'YYYY-MM-DD HH24:MI:SS.FF6'), 12) = '00:00:00.000000' THEN left(to_char(CAST(v AS TIMESTAMP_NTZ), 'YYYY-MM-DD HH24:MI:SS.FF6'), 10) ELSE rtrim(rtrim(to_char(CAST(v AS TIMESTAMP_NTZ), 'YYYY-MM-DD HH24:MI:SS.FF6'), '0'), '.') END, '')
(CAST(v AS TIMESTAMP_NTZ) < '0001-01-02' OR CAST(v AS TIMESTAMP_NTZ) > '9999-12-30') OR mod(date_part(nanosecond, v), 1000) <> 0
-- TIMESTAMP_TZ
{}
collate(CASE WHEN substr(to_char(CAST(convert_timezone('UTC', v) AS TIMESTAMP_NTZ), 'YYYY-MM-DD HH24:MI:SS.FF6'), 12) = '00:00:00.000000' THEN left(to_char(CAST(convert_timezone('UTC', v) AS TIMESTAMP_NTZ), 'YYYY-MM-DD HH24:MI:SS.FF6'), 10) ELSE rtrim(rtrim(to_char(CAST(convert_timezone('UTC', v) AS TIMESTAMP_NTZ), 'YYYY-MM-DD HH24:MI:SS.FF6'), '0'), '.') END, '')
(CAST(convert_timezone('UTC', v) AS TIMESTAMP_NTZ) < '0001-01-02' OR CAST(convert_timezone('UTC', v) AS TIMESTAMP_NTZ) > '9999-12-30') OR mod(date_part(nanosecond, v), 1000) <> 0
-- normal form of a text
CASE WHEN CASE WHEN f >= '-' AND f < ':' THEN regexp_instr(f, '^-?(0|[1-9][0-9]*)\\.0+$|^-0$|^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[t ]') > 0 END THEN regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(f, '^(-?(0|[1-9][0-9]*))\\.0+$', '\\1'), '^-0$', '0'), '^([0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01]))[t ](([01][0-9]|2[0-3]):[0-5][0-9])(z|\\+00(:?00)?)?$', '\\1 \\4:00'), '^([0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01]))[t ](([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])((\\.[0-9]*[1-9])0*|\\.0+)?(z|\\+00(:?00)?)?$', '\\1 \\4\\7'), '^([0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])) 00:00:00$', '\\1') ELSE f END
