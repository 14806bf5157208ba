package openapi

import (
	"encoding/json"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// enum is the list of values of a schema, each spelled in a type that the schema
// has: YAML makes numbers of what was meant as text, and the reverse happens too. An
// enum that no value of the type is in constrains the elements, or says nothing.
func (s *schemas) enum(n, v *yaml.Node) []any {
	var named []string
	switch t := types(getOr(n, "type")).(type) {
	case string:
		named = []string{t}
	case []any:
		for _, name := range t {
			named = append(named, name.(string))
		}
	}
	var values []any
	for _, e := range items(v) {
		if value := spelledAs(data(e), named); value != nil {
			values = append(values, value)
		}
	}
	if len(values) == 0 || len(values) == 1 && isNull(values[0]) && len(items(v)) > 1 {
		s.wider++
		return nil
	}
	return values
}

// getOr is get, with an empty node for what is not there.
func getOr(n *yaml.Node, key string) *yaml.Node {
	if found := get(n, key); found != nil {
		return found
	}
	return &yaml.Node{Kind: yaml.SequenceNode}
}

// spelledAs is a value as it is in one of the types, nil if it is in none.
func spelledAs(value json.RawMessage, named []string) json.RawMessage {
	kind := kindOf(value)
	has := func(name string) bool { return slices.Contains(named, name) }
	switch {
	case len(named) == 0 || has(kind) || kind == "null" || kind == "number" && has("integer"):
		return value
	case has("string") && (kind == "number" || kind == "boolean"):
		return data(scalar(string(value)))
	case kind == "string":
		var text string
		if json.Unmarshal(value, &text) != nil {
			return nil
		}
		inner := json.RawMessage(strings.TrimSpace(text))
		if k := kindOf(inner); json.Valid(inner) && (k == "number" && (has("number") || has("integer")) || k == "boolean" && has("boolean")) {
			return inner
		}
	}
	return nil
}

// kindOf is the JSON type of a value, by how it begins.
func kindOf(value json.RawMessage) string {
	switch {
	case len(value) == 0:
		return ""
	case value[0] == '"':
		return "string"
	case value[0] == '{':
		return "object"
	case value[0] == '[':
		return "array"
	case value[0] == 't' || value[0] == 'f':
		return "boolean"
	case value[0] == 'n':
		return "null"
	}
	return "number"
}
