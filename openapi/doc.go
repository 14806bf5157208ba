// Package openapi reads an OpenAPI document and renders everything a gateway
// is derived from it: the typed REST client, the catalogue of tools, the
// reviewable contract and the pages that document the tools.
//
//	document (+ overlay) ── Load ──▶ Document ── Generate ──▶ []File ── Write / Stale
//
// A gateway needs types for what it sends and for nothing else. So the document
// is read as a tree, not validated as a whole: what a request is made of is
// understood exactly, what an answer looks like only matters to the reader of a
// page, and a fault in a part that no request touches stops nothing.
//
// Documents are somebody else's text. Strings from them reach Go source only
// quoted, names that become identifiers or file names are made of a closed set
// of characters, references outside the document are refused and nothing is
// fetched.
package openapi
