// Package schema validates the arguments of a tool call against the JSON
// Schema (draft 2020-12) published for the tool.
//
// # Why a validator of our own
//
// The gateway starts as often as an editor does, and a call passes the caller's
// JSON on as it was spelled. The general libraries fit neither:
// santhosh-tekuri/jsonschema/v6 compiles the meta-schemas of every draft in a
// package init (5 to 10 ms and some 21,000 allocations at each process start,
// more than the whole start-up budget), and google/jsonschema-go compares
// numbers as float64 and cannot say where in the instance a fault lies. This
// package knows only the closed set of keywords that the generator publishes
// and refuses every other one when compiling. In return it
//
//   - works on raw JSON bytes, never on a map[string]any,
//   - compares numbers as exact decimals, however large their exponent,
//   - takes time in proportion to the size of a value, however hostile it is,
//   - says where the fault is, what was expected and what came.
//
// The library stays the oracle: differential tests hold the two to the same
// verdict.
//
// # Keywords
//
// JSON Schema Validation section 6: type, enum, const, multipleOf, minimum,
// maximum, exclusiveMinimum, exclusiveMaximum, minLength, maxLength, pattern,
// minItems, maxItems, uniqueItems, minProperties, maxProperties, required.
// JSON Schema Core sections 8 and 10: $defs, $ref (to "#" or below "#/$defs/"),
// allOf, anyOf, oneOf, not, properties, patternProperties,
// additionalProperties, propertyNames, prefixItems, items, and boolean schemas.
// Annotations are accepted and ignored.
//
// Patterns are Go regular expressions (RE2): linear in the length of the
// string, and matched anywhere in it as the specification says.
//
// # From text to verdict
//
//	schema text ── Compile ──▶ rules ─────────┐
//	                                          ▼
//	arguments ── Check ──▶ document ── Validate ──▶ nil, or Violation
//	                                                {/limit, integer, string "ten"}
package schema

// A Schema is a compiled JSON Schema. It is immutable and safe for concurrent
// use.
type Schema struct {
	root *rule
}
