"""Define functions and types of Redshift in a PostgreSQL server, which stands for it in tests."""

_FUNCTIONS = (
    """CREATE FUNCTION {schema}.to_varbyte(text, text) RETURNS bytea LANGUAGE sql
    AS $$ SELECT decode($1, $2) $$""",
    """CREATE FUNCTION {schema}.from_varbyte(bytea, text) RETURNS text LANGUAGE sql
    AS $$ SELECT encode($1, $2) $$""",
    # The limit holds whether or not the result is used.
    """CREATE FUNCTION {schema}.append(joined text, text, separator text) RETURNS text
    LANGUAGE plpgsql AS $$ BEGIN
    IF coalesce($2, '') = '' THEN RETURN joined; END IF;
    joined := coalesce(joined || separator, '') || $2;
    IF octet_length(joined) > 65535 THEN RAISE 'Result size exceeds LISTAGG limit'; END IF;
    RETURN joined; END $$""",
    "CREATE AGGREGATE {schema}.listagg(text, text) (sfunc = {schema}.append, stype = text)",
    "CREATE FUNCTION {schema}.without_end(text) RETURNS text LANGUAGE sql AS 'SELECT rtrim($1)'",
    """CREATE FUNCTION {schema}.without_end(anyelement) RETURNS anyelement LANGUAGE sql
    AS 'SELECT $1'""",
    """CREATE FUNCTION {schema}.either(anyelement, anyelement) RETURNS anyelement LANGUAGE sql
    STRICT AS 'SELECT $2'""",
    "CREATE AGGREGATE {schema}.any_of(anyelement) (sfunc = {schema}.either, stype = anyelement)",
    "CREATE DOMAIN {schema}.super AS jsonb",
    "CREATE DOMAIN {schema}.varbyte AS bytea",
    "CREATE VIEW {schema}.sys_query_history AS SELECT 7 AS query_id",
)


def own_schema(schema: str) -> str:
    """Return the schema of the functions of tests in another schema."""
    return f"{schema}_own"


def redshift_functions(schema: str) -> list[str]:
    """Return statements that define Redshift's functions and types for tests in a schema."""
    own = own_schema(schema)
    return [f"CREATE SCHEMA {own}", *(each.format(schema=own) for each in _FUNCTIONS)]
