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
	w := &settling{schemas: s, uses: map[string]int{}, recursive: map[string]bool{}, position: map[string]int{}, small: map[string]bool{}}
	root = s.acyclic(root)
	w.count(root)
	out := w.write(root).(object)
	if len(w.kept) > 0 {
		out = append(out, member{"$defs", w.kept})
	}
	return out
}

type settling struct {
	*schemas
	uses      map[string]int
	recursive map[string]bool
	open      []string       // the definitions that are being counted
	reach     []int          // of each of them, the outermost that was marked with it; 0 for unmarked
	position  map[string]int // of each of them in open, from 1
	small     map[string]bool
	inside    int // how many definitions are being written out, one in another
	kept      object
}

// count counts how often each definition is used and finds those that lead back
// to themselves.
func (w *settling) count(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			w.count(e)
		}
	case object:
		for _, m := range v {
			name, isRef := defRef(m)
			if !isRef {
				w.count(m.value)
				continue
			}
			if at := w.position[name]; at > 0 {
				w.mark(at)
			}
			if w.uses[name]++; w.uses[name] == 1 {
				w.open, w.reach = append(w.open, name), append(w.reach, 0)
				w.position[name] = len(w.open)
				w.count(w.byName[name].schema)
				w.open, w.reach = w.open[:len(w.open)-1], w.reach[:len(w.reach)-1]
				delete(w.position, name)
			}
		}
	}
}

// mark marks the open definitions down to a position, and steps over those that
// were marked before.
func (w *settling) mark(from int) {
	for i := len(w.open); i >= from; {
		if reach := w.reach[i-1]; reach > 0 {
			i = reach - 1
			continue
		}
		w.recursive[w.open[i-1]] = true
		w.reach[i-1] = from
		i--
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
	if w.recursive[name] || w.inside >= maxInside {
		return false
	}
	if w.uses[name] == 1 {
		return true
	}
	small, known := w.small[name]
	if !known {
		// A small one that refers to others could double at each of their levels.
		text := appendJSON(nil, w.byName[name].schema)
		small = len(text) <= inlineBytes && !bytes.Contains(text, []byte(`"$ref"`))
		w.small[name] = small
	}
	return small
}

// maxInside bounds how many definitions are written out one in another; deeper ones
// are easier to read, and to validate, where they stand.
const maxInside = 20

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
				w.inside++
				for _, inner := range w.write(w.byName[name].schema).(object) {
					out.set(inner.key, inner.value)
				}
				w.inside--
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
	inside := w.inside
	w.inside = 0
	schema := w.write(w.byName[name].schema)
	w.inside = inside
	w.kept.set(name, schema)
}
