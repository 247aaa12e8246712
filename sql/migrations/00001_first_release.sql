-- The first release. An empty database gets sql/schema, and no database is older: this step changes nothing. The next
-- released change of the schema is 00002.
SELECT;
