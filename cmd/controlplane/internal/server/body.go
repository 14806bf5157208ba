package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/problem"
)

// object is a request body that is read property by property. What is wrong is
// collected, so that one answer names all of it.
type object struct {
	names  []string // in the order sent
	values map[string]json.RawMessage
	known  []string
	wrong  []problem.Field
}

// errTooLarge is a body beyond what the server reads of any.
var errTooLarge = problem.New(problem.MalformedRequest, "the body is larger than 1 MiB")

// readObject reads a whole body, which must be one JSON object.
func readObject(body io.Reader) (*object, error) {
	raw, err := io.ReadAll(body)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, errTooLarge
	case err != nil:
		return nil, problem.New(problem.MalformedRequest, "the body broke off")
	case !utf8.Valid(raw) || !json.Valid(raw):
		return nil, problem.New(problem.MalformedRequest, "the body is not JSON in UTF-8")
	case bytes.TrimLeft(raw, " \t\r\n")[0] != '{':
		return nil, problem.Invalid(problem.Field{Pointer: "", Detail: "must be an object"})
	}
	o := &object{values: map[string]json.RawMessage{}}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		key, _ := name.(string) // what stands before a colon is a string
		if _, twice := o.values[key]; twice {
			o.refuse(key, "is given twice")
			continue
		}
		o.names = append(o.names, key)
		o.values[key] = value
	}
	return o, nil
}

func (o *object) refuse(name, detail string) {
	o.wrong = append(o.wrong, problem.Field{Pointer: pointer(name), Detail: detail})
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func pointer(name string) string { return "/" + pointerEscapes.Replace(name) }

// value returns any JSON, as sent; nil if the property is missing.
func (o *object) value(name string) json.RawMessage {
	o.known = append(o.known, name)
	return o.values[name]
}

// optional is value with null read as left out.
func (o *object) optional(name string) json.RawMessage {
	if raw := o.value(name); string(raw) != "null" {
		return raw
	}
	return nil
}

// text is a string between least and most characters long, nil if left out.
func (o *object) text(name string, least, most int) *string {
	raw := o.optional(name)
	if raw == nil {
		return nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		o.refuse(name, "must be a string")
		return nil
	}
	if detail := badLength(s, least, most); detail != "" {
		o.refuse(name, detail)
		return nil
	}
	return &s
}

// requiredText is text that must be there; "" stands for one that is refused.
func (o *object) requiredText(name string, most int) string {
	s := o.text(name, 1, most)
	if s != nil {
		return *s
	}
	if raw := o.values[name]; raw == nil || string(raw) == "null" {
		o.refuse(name, "is required")
	}
	return ""
}

func badLength(s string, least, most int) string {
	n := utf8.RuneCountInString(s)
	switch {
	case n < least && n == 0:
		return "must not be empty"
	case n < least:
		return fmt.Sprintf("must be at least %d characters long", least)
	case n > most:
		return fmt.Sprintf("must be at most %d characters long", most)
	}
	return ""
}

func (o *object) boolean(name string) *bool {
	raw := o.optional(name)
	if raw == nil {
		return nil
	}
	var b bool
	if err := json.Unmarshal(raw, &b); err != nil {
		o.refuse(name, "must be true or false")
		return nil
	}
	return &b
}

// integer is a whole number between least and most; as in JSON Schema, 3.0 and 3e0
// are whole.
func (o *object) integer(name string, least, most int) *int {
	raw := o.optional(name)
	if raw == nil {
		return nil
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	n := int(f)
	if err != nil || f < float64(least) || f > float64(most) || float64(n) != f {
		o.refuse(name, fmt.Sprintf("must be an integer from %d to %d", least, most))
		return nil
	}
	return &n
}

// match refuses a string that was read but is not of the given shape.
func (o *object) match(name, s string, shape *regexp.Regexp, detail string) {
	if s != "" && !shape.MatchString(s) {
		o.refuse(name, detail)
	}
}

// done refuses properties that nobody asked for and returns all that is wrong.
func (o *object) done() error {
	for _, name := range o.names {
		if !slices.Contains(o.known, name) {
			o.refuse(name, "is not known; known are "+strings.Join(o.known, ", "))
		}
	}
	if len(o.wrong) > 0 {
		return problem.Invalid(o.wrong...)
	}
	return nil
}
