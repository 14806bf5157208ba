package openapi

import (
	"bytes"
	"strings"
)

// inlineBytes is the size up to which a definition is written out wherever it is
// used: a reference and its definition would cost about as much.
const inlineBytes = 160

// settle returns a schema with its definitions: those used once, small ones and
// those that do not recur are written out in place, the rest stand under $defs.
// Whatever is referred to is there, and nothing else.
func (s *schemas) settle(root object) object {
	w := &settling{schemas: s, uses: map[string]int{}, byName: map[string]*definition{}, recursive: map[string]bool{}}
	for _, d := range s.defs {
		w.byName[d.name] = d
	}
	w.count(root, nil)
	out := w.write(root).(object)
	if len(w.kept) > 0 {
		out = append(out, member{"$defs", w.kept})
	}
	return out
}

type settling struct {
	*schemas
	byName    map[string]*definition
	uses      map[string]int
	recursive map[string]bool
	kept      object
}

// count counts how often each definition is used and finds those that lead back
// to themselves.
func (w *settling) count(v any, open []string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			w.count(e, open)
		}
	case object:
		for _, m := range v {
			name, isRef := defRef(m)
			if !isRef {
				w.count(m.value, open)
				continue
			}
			for i, o := range open {
				if o == name {
					for _, on := range open[i:] {
						w.recursive[on] = true
					}
				}
			}
			if w.uses[name]++; w.uses[name] == 1 {
				w.count(w.byName[name].schema, append(open[:len(open):len(open)], name))
			}
		}
	}
}

// defRef is the definition that a member refers to.
func defRef(m member) (string, bool) {
	ref, ok := m.value.(string)
	if m.key != "$ref" || !ok {
		return "", false
	}
	return strings.CutPrefix(ref, "#/$defs/")
}

func (w *settling) inlined(name string) bool {
	if w.recursive[name] {
		return false
	}
	// A small one that refers to others could double at each of their levels.
	small := appendJSON(nil, w.byName[name].schema)
	return w.uses[name] == 1 || len(small) <= inlineBytes && !bytes.Contains(small, []byte(`"$ref"`))
}

func (w *settling) write(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = w.write(e)
		}
		return out
	case object:
		out := make(object, 0, len(v))
		for _, m := range v {
			name, isRef := defRef(m)
			switch {
			case !isRef:
				out.set(m.key, w.write(m.value))
			case w.inlined(name):
				for _, inner := range w.write(w.byName[name].schema).(object) {
					out.set(inner.key, inner.value)
				}
			default:
				out = append(out, m)
				w.keep(name)
			}
		}
		return out
	}
	return v
}

func (w *settling) keep(name string) {
	if _, ok := w.kept.get(name); ok {
		return
	}
	w.kept = append(w.kept, member{name, nil}) // before its own references to itself
	schema := w.write(w.byName[name].schema)
	w.kept.set(name, schema)
}
