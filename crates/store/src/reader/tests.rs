//! The road that each query takes: by an index, never through the whole record.

use rusqlite::Connection;

use super::{OF_SESSION, row};
use crate::schema::open_writer;
use crate::{places, tail};

fn check(connection: &Connection, sql: &str, expected: &[&str]) {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let plan: Vec<String> = statement
        .query_map(
            rusqlite::params_from_iter([1; 3].iter().take(sql.matches('?').count())),
            |row| row.get(3),
        )
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(plan, expected, "{sql}");
}

#[test]
fn no_query_walks_through_the_record() {
    let dir = tempfile::tempdir().unwrap();
    let connection = open_writer(dir.path()).unwrap();
    let range = ["SEARCH record USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"];
    check(&connection, OF_SESSION, &range);
    check(&connection, tail::OF_RUN, &range);
    check(
        &connection,
        concat!(row::columns!(), "WHERE number > ?1 AND number <= ?2 ORDER BY number"),
        &range,
    );
    check(
        &connection,
        "SELECT first, salts FROM salt WHERE first <= ?1 ORDER BY first DESC LIMIT 1",
        &["SEARCH salt USING INTEGER PRIMARY KEY (rowid<?)"],
    );
    for sql in [places::FORWARD, places::BACKWARD] {
        check(
            &connection,
            sql,
            &[
                "SEARCH place USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
                "SCALAR SUBQUERY 1",
                "SEARCH place USING INTEGER PRIMARY KEY (rowid<?)",
            ],
        );
    }
    check(&connection, places::LATER, &["SEARCH salt USING INTEGER PRIMARY KEY (rowid>?)"]);
}
