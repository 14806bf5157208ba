// Package store keeps the control plane's state in SQLite, in a file or in
// memory. It answers in the models of package api, because ids and times are
// stored in their wire spelling and JSON of any shape as the bytes that came.
//
// There is one connection: an in-memory database is one per connection, and
// writers that queue up in database/sql never meet SQLITE_BUSY. So no method
// queries while it still reads rows.
package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"time"

	_ "modernc.org/sqlite" // the database/sql driver "sqlite"
)

//go:embed schema.sql
var schema string

// Memory is the path of a database that lives as long as its Store.
const Memory = ":memory:"

// ErrNotFound and ErrExists are the two things a look-up or an insertion can
// run into without anything being broken.
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("already exists")
)

// Store is the database. It is safe for concurrent use.
type Store struct {
	db *sql.DB
}

// Open opens the database at path, creating it where there is none. One process
// at a time may have it open.
func Open(ctx context.Context, path string) (*Store, error) {
	name := path
	if path != Memory {
		name = url.PathEscape(path) // a `?` would start the options
	}
	db, err := sql.Open("sqlite", "file:"+name+
		"?_pragma=foreign_keys(1)&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db.SetMaxOpenConns(1)
	s := &Store{db: db}
	_, err = db.ExecContext(ctx, schema)
	if err == nil {
		err = s.recoverClaims(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", path, err), db.Close())
	}
	return s, nil
}

// Close closes the database; one in memory is gone.
func (s *Store) Close() error { return s.db.Close() }

// NewID makes an id nobody can guess, such as req_2Q4N….
func NewID(prefix string) string { return prefix + "_" + rand.Text() }

// Stamp spells a time as the wire and the database do. Milliseconds are always
// written, so that stamps sort as the times they stand for.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// tx runs fn in a transaction, alone with the database: stamps taken inside fn
// are in the order of the rows written.
func (s *Store) tx(ctx context.Context, fn func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// querier is a database or a transaction of it.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// row is what *sql.Row and *sql.Rows have in common.
type row interface{ Scan(dest ...any) error }

// collect reads all rows of a query; no rows is an empty slice, never nil,
// which would be null on the wire.
func collect[T any](ctx context.Context, q querier, scan func(row) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := []T{}
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// found turns "no rows" into ErrNotFound.
func found(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}
