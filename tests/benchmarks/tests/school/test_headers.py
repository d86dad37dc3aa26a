"""Test that schemas without rows and data packages are read."""

import json
from pathlib import Path

import pytest

from benchmarks.school.database import Database
from benchmarks.school.headers import read_headers
from benchmarks.school.packages import read_package
from benchmarks.school.plan import LakeKind, draw_draft, make_lake
from benchmarks.school.repository import Repository
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

PATHS = {"schema.rb": RAILS, "prisma/schema.prisma": PRISMA, "ddl.sql": SQL}


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
    assert all(database.containment(one) == 1 for one in database.references)


def test_made_up_rows_appear_in_no_lake_with_rows(tmp_path: Path) -> None:
    pool = [read(tmp_path, "schema.rb")]
    drafts = [draw_draft(number, random(number), most=100) for number in range(150)]
    relational = [one for one in drafts if one.kind == LakeKind.RELATIONAL]
    hidden = next(one for one in relational if one.values_hidden)
    lake, used = make_lake(hidden, pool, random())
    assert used == ["a/b"]
    assert lake.truth
    assert all(frame.empty for frame in lake.tables.values())
    shown = next(one for one in relational if not one.values_hidden)
    with pytest.raises(ValueError, match=r"no lake of relational can be made"):
        make_lake(shown, pool, random())


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
