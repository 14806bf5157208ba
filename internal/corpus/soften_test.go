package corpus

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// soften makes a document one that the judging library can load, changing nothing
// that it could have judged requests by:
//
//	what                                  why the library stops there
//	responses, callbacks, examples        references that lead nowhere; says nothing of requests
//	patterns with lookahead               Go's regexp has none; the rest of the schema is still judged
//	items that are true or a list         it reads only a schema there
//	references that lead nowhere          as a schema without constraints, which is what is published
//	Swagger 2.0: path-level parameters    moved into the operations: it refuses a body among them
func soften(data []byte) ([]byte, error) {
	var root any
	if json.Unmarshal(data, &root) != nil { // read as YAML, some JSON is malformed: "\ud83d\ude00"
		if err := yaml.Unmarshal(data, &root); err != nil {
			return nil, err
		}
	}
	s := softener{}
	tree, _ := stringKeys(root).(map[string]any)
	s.root = tree
	delete(tree, "webhooks")
	if components, ok := tree["components"].(map[string]any); ok {
		for _, key := range []string{"responses", "examples", "links", "callbacks"} {
			delete(components, key)
		}
	}
	delete(tree, "responses")
	paths, _ := tree["paths"].(map[string]any)
	for _, item := range paths {
		s.item(item)
	}
	return json.Marshal(s.walk(tree, false))
}

type softener struct{ root map[string]any }

func (s softener) item(v any) {
	item, _ := v.(map[string]any)
	shared, _ := item["parameters"].([]any)
	for _, op := range item {
		op, ok := op.(map[string]any)
		if !ok {
			continue
		}
		op["responses"] = map[string]any{"200": map[string]any{"description": "dropped"}}
		delete(op, "callbacks")
		if s.root["swagger"] == nil || shared == nil {
			continue
		}
		own, _ := op["parameters"].([]any)
		for _, p := range shared {
			if !slices.ContainsFunc(own, func(o any) bool { return s.same(o, p) }) {
				own = append(own, p)
			}
		}
		op["parameters"] = own
	}
	if s.root["swagger"] != nil {
		delete(item, "parameters")
	}
}

// same reports parameters of one name and place.
func (s softener) same(a, b any) bool {
	x, y := s.target(a), s.target(b)
	return x["name"] == y["name"] && x["in"] == y["in"]
}

func (s softener) target(v any) map[string]any {
	m, _ := v.(map[string]any)
	if ref, ok := m["$ref"].(string); ok {
		m, _ = s.lookup(ref).(map[string]any)
	}
	return m
}

// lookup is what a local reference leads to, nil if nothing.
func (s softener) lookup(ref string) any {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	var at any = s.root
	for _, key := range strings.Split(path, "/") {
		m, _ := at.(map[string]any)
		at = m[strings.NewReplacer("~1", "/", "~0", "~", "%7B", "{", "%7D", "}").Replace(key)]
	}
	return at
}

// walk softens schemas; the keys of a named map are names, not keywords.
func (s softener) walk(v any, named bool) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = s.walk(v[i], false)
		}
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok && !named && strings.HasPrefix(ref, "#/") && s.lookup(ref) == nil {
			return map[string]any{}
		}
		for key, e := range v {
			if !named {
				switch e := e.(type) {
				case string:
					if _, err := regexp.Compile(e); key == "pattern" && err != nil {
						delete(v, key)
						continue
					}
				case bool:
					if key == "items" {
						v[key] = map[string]any{}
						continue
					}
				case []any:
					if key == "items" {
						v[key] = map[string]any{}
						continue
					}
				}
				if key == "examples" || key == "example" {
					delete(v, key)
					continue
				}
			}
			v[key] = s.walk(e, !named && (key == "properties" || key == "schemas" || key == "definitions"))
		}
	}
	return v
}

// stringKeys makes a tree of YAML one of JSON: keys such as 200 are strings, and
// so are dates.
func stringKeys(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = stringKeys(v[i])
		}
	case map[string]any:
		for key, e := range v {
			v[key] = stringKeys(e)
		}
	case map[any]any:
		out := map[string]any{}
		for key, e := range v {
			out[fmt.Sprint(key)] = stringKeys(e)
		}
		return out
	case time.Time:
		return v.Format(time.DateOnly)
	}
	return v
}
