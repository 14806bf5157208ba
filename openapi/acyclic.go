package openapi

// acyclic cuts what leads back to a schema without descending into the value: a
// subtype that includes its base while the base lists its subtypes, or two names for
// each other. It says nothing that is not said already, and no validator bears it
// (JSON Schema 2020-12 Core, section 9.4.1). Where a circle is entered decides where
// it is cut, so that the schema that was asked for keeps all of its own.
func (s *schemas) acyclic(root object) object {
	c := &cutting{schemas: s, state: map[string]cutState{}}
	return c.value(root).(object)
}

type cutState uint8

const (
	cutOpen cutState = iota + 1 // being walked without having descended
	cutDone
)

type cutting struct {
	*schemas
	state map[string]cutState
	later []*definition
}

// value cuts within what descends into the value, after what stays at it.
func (c *cutting) value(v any) any {
	out, _ := c.inPlace(v.(object))
	c.descend(out)
	for len(c.later) > 0 {
		def := c.later[0]
		c.later = c.later[1:]
		c.descend(def.schema)
	}
	return out
}

// inPlace cuts a schema where it leads back to one that is open; ok is false if
// nothing is left of it.
func (c *cutting) inPlace(o object) (out object, ok bool) {
	for _, m := range o {
		if name, isRef := defRef(m); isRef {
			if c.state[name] == cutOpen {
				continue
			}
			c.visit(name)
		}
		switch m.key {
		case "allOf", "anyOf", "oneOf":
			var branches []any
			for _, b := range m.value.([]any) {
				if kept, ok := c.inPlace(b.(object)); ok {
					branches = append(branches, kept)
				}
			}
			if len(branches) == 0 {
				continue
			}
			m.value = branches
		case "not":
			kept, ok := c.inPlace(m.value.(object))
			if !ok {
				continue
			}
			m.value = kept
		}
		out = append(out, m)
	}
	if out == nil {
		out = object{}
	}
	return out, len(out) > 0 || len(o) == 0
}

// visit cuts a definition, once.
func (c *cutting) visit(name string) {
	def := c.byName[name]
	if c.state[name] != 0 || def == nil {
		return
	}
	c.state[name] = cutOpen
	def.schema, _ = c.inPlace(def.schema)
	c.state[name] = cutDone
	c.later = append(c.later, def)
}

// descend cuts the schemas of members and elements. It changes them in place: they
// are this tool's own.
func (c *cutting) descend(v any) {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			v[i] = c.below(e)
		}
	case object:
		for i, m := range v {
			switch m.key {
			case "properties", "patternProperties":
				for j, p := range m.value.(object) {
					m.value.(object)[j].value = c.below(p.value)
				}
			case "items", "additionalProperties", "propertyNames":
				v[i].value = c.below(m.value)
			case "prefixItems", "allOf", "anyOf", "oneOf":
				for j, e := range m.value.([]any) {
					if m.key == "prefixItems" {
						m.value.([]any)[j] = c.below(e)
					} else {
						c.descend(e)
					}
				}
			case "not":
				c.descend(m.value)
			}
		}
	}
}

func (c *cutting) below(v any) any {
	o, ok := v.(object)
	if !ok {
		return v
	}
	out, _ := c.inPlace(o)
	c.descend(out)
	return out
}
