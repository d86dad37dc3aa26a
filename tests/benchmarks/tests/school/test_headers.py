"""Test that schemas without rows and data packages are read."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.school.database import Database, Reference
from benchmarks.school.headers import read_headers
from benchmarks.school.invent import invent_rows
from benchmarks.school.packages import read_package
from benchmarks.school.plan import LakeKind, draw_draft, make_lake
from benchmarks.school.read import read_databases
from benchmarks.school.repository import Repository
from benchmarks.school.sources import Kind, Source, Split
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName
from lakes.schooling import commit, random

RAILS = """
ActiveRecord::Schema[7.0].define(version: 2024_01_01) do
  create_table "categories", force: :cascade do |t|
    t.string "name", null: false
    t.index ["name"], name: "by_name"
  end
  create_table "posts", id: :uuid do |t|
    t.bigint "category_id"
    t.references "author", null: false
  end
  create_table :users, primary_key: "code" do |t|
    t.string "email"
  end
  add_foreign_key "posts", "categories"
  add_foreign_key :posts, :users, column: "author_id"
  add_foreign_key "posts", "missing"
end
"""

PRISMA = """
enum Role { USER }
model Category {
  id    Int    @id
  posts Post[]
  @@map("categories")
}
model User {
  code  String @id
  role  Role
  posts Post[] // all
  @@map("users")
}
model Post {
  id         String @id
  categoryId Int    @map("category_id")
  authorId   String @map("author_id")
  category   Category @relation(fields: [categoryId], references: [id], onDelete: Cascade)
  author     User?    @relation("written", fields: [authorId], references: [code])
  @@map("posts")
}
"""

SQL = """
CREATE TABLE categories (id int PRIMARY KEY);
CREATE TABLE users (code text PRIMARY KEY, email text);
CREATE TABLE posts (id int, category_id int REFERENCES categories, author_id text);
ALTER TABLE posts ADD FOREIGN KEY (author_id) REFERENCES users (code);
"""

SQLALCHEMY = """
from sqlalchemy import Column, ForeignKey, Table

categories = Table("categories", metadata, Column("id", Integer, primary_key=True))

class User(Base):
    __tablename__ = "users"
    email = Column(Text)

class Post(Base):
    __tablename__ = "posts"
    id: Mapped[int] = mapped_column(primary_key=True)
    category = Column("category_id", ForeignKey(column="x"), ForeignKey("shop.categories.id"))
    author_id: Mapped[str] = mapped_column(String, db.ForeignKey("users.code"))
    stranger = Column(ForeignKey("missing.id"))
    author = relationship("User")
"""

LARAVEL = """
<?php
    Schema::create('categories', function (Blueprint $table) {
        $table->id();
        $table->string('name')->unique();
        $table->timestamps();
    });
    Schema::create("users", function (Blueprint $table) {
        $table->string('code')->primary();
    });
    Schema::create('posts', function (Blueprint $table) {
        $table->bigIncrements('id');
        $table->foreignId('category_id')->nullable()->constrained()->cascadeOnDelete();
        $table->index('author_id');
    });
    Schema::table('posts', function (Blueprint $table) {
        $table->string('author_id');
        $table->foreign('author_id')->references('code')->on('users');
        $table->dropColumn('body');
    });
"""

PATHS = {
    "schema.rb": RAILS,
    "prisma/schema.prisma": PRISMA,
    "ddl.sql": SQL,
    "models.py": SQLALCHEMY,
    "migrations/1.php": LARAVEL,
}

DJANGO = """
class Dated(models.Model):
    made = models.DateField()
    owner = models.ForeignKey("people.Person", models.CASCADE)

    class Meta:
        abstract = True

class Post(Dated):
    title = models.CharField()
    reply_to = models.ForeignKey("self", null=True)
    readers = models.ManyToManyField(to="people.Person")

class Helper:
    title = "no model"
"""


def read(tmp_path: Path, path: str) -> Database:
    made = commit(tmp_path / "x", {path: PATHS[path]})
    return read_headers(Repository("a/b", tmp_path / "x" / ".git", made), path)


@pytest.mark.parametrize("path", PATHS)
def test_declared_keys_are_read_in_every_language(tmp_path: Path, path: str) -> None:
    database = read(tmp_path, path)
    assert {(str(one.origin), str(one.target)) for one in database.references} == {
        ("posts.category_id", "categories.id"),
        ("posts.author_id", "users.code"),
    }
    assert database.invented
    filled = invent_rows(database, 200, random())
    assert all(filled.containment(one) == 1 for one in filled.references)
    assert {name: [*frame] for name, frame in filled.tables.items()} == {
        name: [*frame] for name, frame in database.tables.items()
    }


def test_columns_of_laravel_are_read_once(tmp_path: Path) -> None:
    assert {
        name: [*frame] for name, frame in read(tmp_path, "migrations/1.php").tables.items()
    } == {
        "categories": ["id", "name", "created_at", "updated_at"],
        "users": ["code"],
        "posts": ["id", "category_id", "author_id"],
    }


def test_models_of_django_become_tables(tmp_path: Path) -> None:
    people = "class Person(models.Model):\n    name = models.CharField()\n"
    newer = "try:\n    x\nexcept A, B:\n    pass\nclass ="
    files = {"blog/models/post.py": DJANGO, "people/models.py": people, "a/models.py": newer}
    made = commit(tmp_path / "x", files)
    database = read_headers(Repository("a/b", tmp_path / "x" / ".git", made), "*/models*.py")
    assert {name: [*frame] for name, frame in database.tables.items()} == {
        "blog_post": ["id", "title", "reply_to_id", "made", "owner_id"],
        "blog_post_readers": ["id", "post_id", "person_id"],
        "people_person": ["id", "name"],
    }
    assert {(str(one.origin), str(one.target)) for one in database.references} == {
        ("blog_post.owner_id", "people_person.id"),
        ("blog_post.reply_to_id", "blog_post.id"),
        ("blog_post_readers.post_id", "blog_post.id"),
        ("blog_post_readers.person_id", "people_person.id"),
    }


def test_a_schema_without_rows_makes_lakes_with_rows_and_without(tmp_path: Path) -> None:
    pool = [read(tmp_path, "schema.rb")]
    drafts = [draw_draft(number, random(number), most=100) for number in range(150)]
    relational = [one for one in drafts if one.kind == LakeKind.RELATIONAL]
    for hidden in (True, False):
        draft = next(one for one in relational if one.values_hidden == hidden)
        lake, used = make_lake(draft, pool, random())
        assert used == ["a/b"]
        assert lake.truth
        assert all(frame.empty == hidden for frame in lake.tables.values())


def test_a_lake_of_headers_declares_all_keys_and_has_no_rows(tmp_path: Path) -> None:
    made = commit(tmp_path / "a+b" / "repo", {"schema.rb": PATHS["schema.rb"]})
    source = Source("a/b", made, "MIT", Kind.HEADERS, "schema.rb", Split.TRAIN)
    pool = read_databases([source], cache=tmp_path, mirror=None)
    draft = draw_draft(0, random(), most=100, kind=LakeKind.HEADERS)
    lake, used = make_lake(replace(draft, names="plain"), pool, random())
    assert used == ["a/b/schema"]
    assert not draft.values_hidden
    assert all(frame.empty for frame in lake.tables.values())
    assert {one.table.rpartition("/")[2] for one, _ in lake.declared} == {"posts"}
    assert len(lake.declared) == 2
    assert (lake.truth, lake.neutral) == ((), ())


def test_columns_named_after_a_table_refer_to_it_and_are_not_asked_for() -> None:
    headers = {"users": ["id", "name"], "posts": ["id", "userId", "user_type", "rank"]}
    tables = {name: pd.DataFrame(columns=columns) for name, columns in headers.items()}
    filled = invent_rows(Database("a/b", tables, (), invented=True), 50, random())
    origin, target = ColumnName("posts", "userId"), ColumnName("users", "id")
    assert filled.references == ()
    assert filled.parts == (Reference(origin, target),)
    assert filled.values(origin) <= filled.values(target)
    assert not filled.invented


def test_a_data_package_declares_keys(tmp_path: Path) -> None:
    key = {"fields": ["country"], "reference": {"resource": "countries", "fields": "code"}}
    broken = {"fields": "self", "reference": {}}
    package = {
        "resources": [
            {"name": "countries", "path": "data/c.csv", "schema": "countries.json"},
            {
                "name": "cities",
                "path": ["data/1.csv", "data/2.csv"],
                "dialect": {"delimiter": ";"},
                "schema": {"foreignKeys": [key, broken]},
            },
            {"name": "picture", "path": "data/p.png"},
        ]
    }
    files = {
        "p/datapackage.json": json.dumps(package),
        "p/countries.json": "{}",
        "p/data/c.csv": "code,name\nA,Aa\n",
        "p/data/1.csv": "city;country\nx;A\n",
        "p/data/2.csv": "city;country\ny;B\n",
    }
    made = commit(tmp_path / "x", files)
    database = read_package(Repository("a/b", tmp_path / "x" / ".git", made), "*/datapackage.json")
    [reference] = database.references
    assert (str(reference.origin), str(reference.target)) == ("cities.country", "countries.code")
    assert database.containment(reference) == 0.5
    assert set(database.tables) == {"cities", "countries"}
