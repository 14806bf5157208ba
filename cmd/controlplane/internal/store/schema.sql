CREATE TABLE IF NOT EXISTS users (
  id           TEXT PRIMARY KEY,
  display_name TEXT NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS projects (
  slug       TEXT PRIMARY KEY,
  name       TEXT NOT NULL,
  activated  INTEGER NOT NULL,
  created_at TEXT NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS memberships (
  user_id TEXT NOT NULL REFERENCES users(id),
  project TEXT NOT NULL REFERENCES projects(slug),
  role    TEXT NOT NULL,
  PRIMARY KEY (user_id, project)
) STRICT;

-- hash is the SHA-256 of the PAT; the PAT itself is nowhere.
CREATE TABLE IF NOT EXISTS tokens (
  id          TEXT PRIMARY KEY,
  hash        BLOB NOT NULL UNIQUE,
  user_id     TEXT NOT NULL REFERENCES users(id),
  name        TEXT NOT NULL,
  scopes      TEXT NOT NULL,
  confined_to TEXT REFERENCES projects(slug),
  expires_at  TEXT,
  revoked_at  TEXT
) STRICT;

CREATE TABLE IF NOT EXISTS queue_triggers (
  id           TEXT PRIMARY KEY,
  project      TEXT NOT NULL REFERENCES projects(slug),
  name         TEXT NOT NULL,
  queue        TEXT NOT NULL,
  routing_key  TEXT,
  enabled      INTEGER NOT NULL,
  prefetch     INTEGER NOT NULL,
  max_attempts INTEGER NOT NULL,
  args         BLOB NOT NULL,
  created_at   TEXT NOT NULL,
  updated_at   TEXT NOT NULL,
  UNIQUE (project, name)
) STRICT;

-- A message that was never delivered has consumed = 0; without a row in
-- message_deliveries it waits in its queue for a trigger.
CREATE TABLE IF NOT EXISTS messages (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  project      TEXT NOT NULL REFERENCES projects(slug),
  queue        TEXT NOT NULL,
  message_id   TEXT NOT NULL,
  routing_key  TEXT,
  payload      BLOB NOT NULL,
  published_at TEXT NOT NULL,
  consumed     INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX IF NOT EXISTS messages_by_queue ON messages (project, queue);

-- One row per message and trigger it was routed to, until that trigger is done
-- with it.
CREATE TABLE IF NOT EXISTS message_deliveries (
  message_seq INTEGER NOT NULL REFERENCES messages(seq) ON DELETE CASCADE,
  trigger_id  TEXT NOT NULL REFERENCES queue_triggers(id) ON DELETE CASCADE,
  attempts    INTEGER NOT NULL DEFAULT 0,
  due_at      TEXT NOT NULL,
  claimed     INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (message_seq, trigger_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS message_deliveries_by_trigger ON message_deliveries (trigger_id, claimed);

CREATE TABLE IF NOT EXISTS fires (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  id           TEXT NOT NULL,
  trigger_id   TEXT NOT NULL REFERENCES queue_triggers(id) ON DELETE CASCADE,
  execution_id TEXT,
  message_id   TEXT,
  routing_key  TEXT,
  redelivered  INTEGER NOT NULL,
  outcome      TEXT NOT NULL,
  detail       TEXT,
  fired_at     TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS fires_by_trigger ON fires (trigger_id, seq);

CREATE TABLE IF NOT EXISTS executions (
  id          TEXT PRIMARY KEY,
  project     TEXT NOT NULL REFERENCES projects(slug),
  request_id  TEXT NOT NULL,
  trigger_id  TEXT REFERENCES queue_triggers(id) ON DELETE SET NULL,
  message_id  TEXT,
  attempt     INTEGER NOT NULL,
  status      TEXT NOT NULL,
  failure     TEXT,
  args        BLOB NOT NULL,
  started_at  TEXT NOT NULL,
  finished_at TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS executions_by_trigger ON executions (trigger_id);

CREATE TABLE IF NOT EXISTS logs (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  project    TEXT NOT NULL REFERENCES projects(slug),
  request_id TEXT NOT NULL,
  level      INTEGER NOT NULL,
  message    TEXT NOT NULL,
  fields     BLOB NOT NULL,
  logged_at  TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS logs_by_request ON logs (project, request_id, id);

-- seq grows with the time of dispatch: it is the order and the cursor of pages.
CREATE TABLE IF NOT EXISTS dispatched_triggers (
  seq           INTEGER PRIMARY KEY AUTOINCREMENT,
  id            TEXT NOT NULL UNIQUE,
  project       TEXT NOT NULL REFERENCES projects(slug),
  action_class  TEXT NOT NULL,
  mode          TEXT NOT NULL,
  envelope      BLOB NOT NULL,
  signature     TEXT NOT NULL,
  dispatched_at TEXT NOT NULL,
  expires_at    TEXT NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS deliveries (
  trigger_id          TEXT NOT NULL REFERENCES dispatched_triggers(id),
  attempt             INTEGER NOT NULL,
  dispatched_at       TEXT NOT NULL,
  response_status     INTEGER,
  response_latency_ms INTEGER,
  error               TEXT,
  PRIMARY KEY (trigger_id, attempt)
) STRICT;

-- The callback in force; the ledger keeps the earlier ones.
CREATE TABLE IF NOT EXISTS callbacks (
  trigger_id   TEXT PRIMARY KEY REFERENCES dispatched_triggers(id),
  kind         TEXT NOT NULL,
  outcome      TEXT NOT NULL,
  received_at  TEXT NOT NULL,
  external_ref TEXT
) STRICT;

CREATE TABLE IF NOT EXISTS ledger_entries (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  id           TEXT NOT NULL UNIQUE,
  trigger_id   TEXT NOT NULL REFERENCES dispatched_triggers(id),
  kind         TEXT NOT NULL,
  outcome      TEXT,
  reason       TEXT,
  external_ref TEXT,
  recorded_at  TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS ledger_entries_by_trigger ON ledger_entries (trigger_id, seq);
