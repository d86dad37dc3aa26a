"""Test that SQL scripts of all engines become databases."""

from pathlib import Path

import pytest

from benchmarks.school.repository import Repository
from benchmarks.school.sql import database_of, decoded, read_sql
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName
from lakes.schooling import commit

MYSQL = """
/*!40101 SET NAMES utf8 */;
CREATE TABLE IF NOT EXISTS `shop`.`Band` (
  `band_id` int(11) NOT NULL AUTO_INCREMENT COMMENT 'a, b; c',  -- its number
  `name` varchar(20) DEFAULT 'x',
  PRIMARY KEY (`band_id`), KEY `idx` (`name`)
) ENGINE=InnoDB;
CREATE TABLE Concert (id int, band int, KEY (band),
  CONSTRAINT fk FOREIGN KEY (band) REFERENCES band (BAND_ID) ON DELETE CASCADE);
INSERT INTO `Band` VALUES (1,'It''s \\'us\\'; all'),(2,NULL);
insert ignore into concert (band, id) values (2, 7), (-1, 8);
"""

POSTGRESQL = """
CREATE TABLE public.band (band_id integer NOT NULL, name text, made numeric(4,2));
CREATE TABLE public.concert (id integer, band integer);
COPY public.band (band_id, name, made) FROM stdin;
1\tone\t\\N
2\ttwo\t1.50
\\.
COPY public.concert (id, band) FROM stdin;
7\t2
\\.
ALTER TABLE ONLY public.band ADD CONSTRAINT band_pkey PRIMARY KEY (band_id);
ALTER TABLE ONLY public.concert
    ADD CONSTRAINT concert_fkey FOREIGN KEY (band) REFERENCES public.band;
"""

SQL_SERVER = """
CREATE TABLE [dbo].[Band]([band_id] [int] IDENTITY(1,1) NOT NULL, [name] [nvarchar](20) NULL,
 CONSTRAINT [PK_Band] PRIMARY KEY CLUSTERED ([band_id] ASC) WITH (PAD_INDEX = OFF) ON [PRIMARY])
GO
CREATE TABLE [dbo].[Concert]([id] [int] NOT NULL, [band] [int] NULL, [day] [date])
GO
INSERT [dbo].[Band] ([name]) VALUES (N'one')
INSERT [dbo].[Band] ([name]) VALUES (N'two')
INSERT [dbo].[Concert] ([id], [band], [day]) VALUES (7, 2, CAST(N'2020-01-02' AS Date))
ALTER TABLE [dbo].[Concert] WITH CHECK ADD CONSTRAINT [FK_x] FOREIGN KEY([band])
REFERENCES [dbo].[Band] ([band_id])
GO
"""

WIDE = """
CREATE TABLE line (order_id int, line_no int, PRIMARY KEY (order_id, line_no));
CREATE TABLE parcel (id int PRIMARY KEY, order_id int, line int,
  FOREIGN KEY (order_id, line) REFERENCES line);
ALTER TABLE parcel ADD CONSTRAINT c FOREIGN KEY (id, line) REFERENCES line (line_no, order_id);
"""

ORACLE = """
CREATE TABLE band (band_id NUMBER(4) CONSTRAINT band_pk PRIMARY KEY, name VARCHAR2(20));
CREATE TABLE concert (id NUMBER, band NUMBER(4) NOT NULL REFERENCES band, day DATE);
INSERT INTO band VALUES (1, 'one');
INSERT INTO band VALUES (2, 'two');
INSERT INTO concert VALUES (7, 2, TO_DATE('2020-01-02', 'YYYY-MM-DD'));
"""


@pytest.mark.parametrize("script", [MYSQL, POSTGRESQL, SQL_SERVER, ORACLE])
def test_declared_keys_and_rows_are_read_in_every_dialect(script: str) -> None:
    database = database_of("x", [script])
    [reference] = database.references
    assert (str(reference.origin).lower(), str(reference.target).lower()) == (
        "concert.band",
        "band.band_id",
    )
    assert database.values(reference.target) == {"1", "2"}
    assert "2" in database.values(reference.origin)


def test_cells_are_read_as_they_are_meant() -> None:
    database = database_of("x", [MYSQL])
    assert database.tables["Band"].to_numpy().tolist() == [["1", "It's 'us'; all"], ["2", ""]]
    assert database.tables["Concert"].to_numpy().tolist() == [["7", "2"], ["8", "-1"]]
    assert database_of("x", [SQL_SERVER]).tables["Concert"]["day"].tolist() == ["2020-01-02"]
    assert database_of("x", [ORACLE]).tables["concert"]["day"].tolist() == ["2020-01-02"]
    assert database_of("x", [POSTGRESQL]).tables["band"]["made"].tolist() == ["", "1.50"]


def test_keys_that_the_engine_numbers_are_numbered() -> None:
    script = (
        "CREATE TABLE tag (id SERIAL PRIMARY KEY, name TEXT);"
        "INSERT INTO tag (name) VALUES ('a'), (upper('b')), ('c');"
    )
    frame = database_of("x", [script]).tables["tag"]
    assert frame["id"].tolist() == ["1", "2"]  # a row of which nothing is known is none
    assert frame["name"].tolist() == ["a", "c"]


def test_a_key_of_two_columns_is_no_reference() -> None:
    script = (
        "CREATE TABLE a (x int, y int, PRIMARY KEY (x, y));"
        "CREATE TABLE b (x int, y int, FOREIGN KEY (x, y) REFERENCES a (x, y));"
    )
    assert not database_of("x", [script]).references


def test_scripts_of_several_files_are_one_database(tmp_path: Path) -> None:
    script = ORACLE.encode("utf-16")
    files: dict[str, str | bytes] = {
        "sql/2 tables.sql": script,
        "sql/1 more.sql": "INSERT INTO band VALUES (3, 'three');",
    }
    made = commit(tmp_path / "x", files)
    database = read_sql(Repository("a/b", tmp_path / "x" / ".git", made), "sql/*?*.sql")
    assert database.values(ColumnName("band", "band_id")) == {"1", "2", "3"}


def test_old_encodings_are_read() -> None:
    assert decoded("Köln".encode("latin-1")) == decoded("Köln".encode()) == "Köln"
    assert decoded(None) == ""


def test_keys_of_several_columns_are_read_by_column() -> None:
    database = database_of("x", [WIDE])
    assert not database.references
    assert {f"{one.origin} {one.target}" for one in database.parts} == {
        "parcel.order_id line.order_id",
        "parcel.line line.line_no",
        "parcel.id line.line_no",
        "parcel.line line.order_id",
    }
