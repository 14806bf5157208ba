package gateway

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/postern-mcp/postern/apiclient/encode"
	"github.com/postern-mcp/postern/apiclient/transport"
	apierrors "github.com/postern-mcp/postern/errors"
	"github.com/postern-mcp/postern/gateway/schema"
)

// maxArgumentDepth bounds how deep arguments may nest; what passes it costs
// recursion at every reader behind the gateway.
const maxArgumentDepth = 100

// Args are the arguments of one call after validation, as generated handlers
// read them. A handler asks only for arguments its row declares.
type Args struct {
	tool *ToolV1
	// values are the raw values, parallel to the row's Args; nil when left out.
	values [][]byte

	body        []byte // nil when none is sent
	contentType string
}

// arguments validates the raw arguments and splits them.
func (c *call) arguments(raw []byte) (*Args, *apierrors.Error) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		raw = []byte("{}") // MCP: arguments may be left out
	}
	if err := schema.Check(raw, maxArgumentDepth); err != nil {
		return nil, invalid(err)
	}
	if v := c.tool.schema().Validate(raw); v != nil {
		return nil, invalid(v)
	}
	a := &Args{tool: c.tool.ToolV1, values: make([][]byte, len(c.tool.Args))}
	// Validation has refused what is not an object and every unknown member.
	_ = schema.SplitObject(raw, func(key string, value []byte) bool {
		if i := a.index(key); i >= 0 && (a.tool.Args[i].takesNull() || !schema.IsNull(value)) {
			a.values[i] = value
		}
		return true
	})
	if err := c.fillDefaults(a); err != nil {
		return nil, err
	}
	if err := a.checkText(); err != nil {
		return nil, err
	}
	if err := a.checkPath(); err != nil {
		return nil, err
	}
	if err := a.buildBody(); err != nil {
		return nil, err
	}
	return a, nil
}

// takesNull reports whether a JSON null is a value: in a body, where validation
// let it pass for a required property or upstream declares it. A URL or a header
// has no null, so there it is the same as leaving the argument out.
func (a *ArgV1) takesNull() bool { return a.In == InBody && (a.Required || a.SendNull) }

func (a *Args) index(name string) int {
	for i := range a.tool.Args {
		if a.tool.Args[i].Name == name {
			return i
		}
	}
	return -1
}

// invalid is the envelope of arguments that break the published schema.
func invalid(err error) *apierrors.Error {
	e := apierrors.New(apierrors.InvalidArguments, "the arguments do not fit the tool's schema: "+err.Error())
	var v *schema.Violation
	if errors.As(err, &v) {
		e.Pointer, e.Expected = v.Pointer, v.Expected
	}
	return e
}

// String returns an argument as the text it is in a URL or header: a string's
// characters, anything else as it was spelled.
func (a *Args) String(name string) string {
	if s := a.OptionalString(name); s != nil {
		return *s
	}
	return ""
}

// OptionalString is String, and nil for an argument that was left out.
func (a *Args) OptionalString(name string) *string {
	raw := a.raw(name)
	if raw == nil {
		return nil
	}
	s := textOf(raw)
	return &s
}

// raw is an argument's JSON, nil when it was left out.
func (a *Args) raw(name string) []byte {
	i := a.index(name)
	if i < 0 {
		panic("gateway: " + a.tool.Name + " has no argument " + name)
	}
	return a.values[i]
}

// object is the arguments as one JSON object.
func (a *Args) object() []byte {
	b := []byte{'{'}
	for i, raw := range a.values {
		if raw == nil {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(appendKey(b, a.tool.Args[i].Name), raw...)
	}
	return append(b, '}')
}

// JSON returns an argument as the JSON text it was given as.
func (a *Args) JSON(name string) string { return string(a.raw(name)) }

// OptionalJSON is JSON, and nil for an argument that was left out.
func (a *Args) OptionalJSON(name string) *string {
	raw := a.raw(name)
	if raw == nil {
		return nil
	}
	s := string(raw)
	return &s
}

// Value returns an argument as what it was given as: a primitive value, a list or
// an object, in which values that hold others are JSON text. It is nil for one that
// was left out.
func (a *Args) Value(name string) encode.Value {
	if raw := a.raw(name); raw != nil {
		return valueOf(raw)
	}
	return nil
}

// OptionalValue is Value.
func (a *Args) OptionalValue(name string) encode.Value { return a.Value(name) }

// Deep is Value for the style deepObject, in which a nested value has a path.
func (a *Args) Deep(name string) encode.Value {
	if raw := a.raw(name); raw != nil {
		return styledValue(encode.DeepObject, raw)
	}
	return nil
}

// OptionalDeep is Deep.
func (a *Args) OptionalDeep(name string) encode.Value { return a.Deep(name) }

// ContentType is the media type of Body.
func (a *Args) ContentType() string { return a.contentType }

// Body returns the request's body, or an untyped nil when none is to be sent.
func (a *Args) Body() io.Reader {
	if a.body == nil {
		return nil
	}
	return bytes.NewReader(a.body)
}

// checkText refuses half a surrogate pair outside the body: it is no character, and
// would be sent as another one.
func (a *Args) checkText() *apierrors.Error {
	for i := range a.tool.Args {
		arg, raw := &a.tool.Args[i], a.values[i]
		if arg.In != InBody && schema.HasLoneSurrogate(raw) {
			e := apierrors.New(apierrors.InvalidArguments, arg.Name+" holds half a surrogate pair")
			e.Pointer, e.Expected = pointer(arg.Name), "Unicode text"
			return e
		}
	}
	return nil
}

// checkPath refuses values that cannot stand in a path, where the pointer can
// still be named. The transport checks the finished URL again.
func (a *Args) checkPath() *apierrors.Error {
	for i := range a.tool.Args {
		arg := &a.tool.Args[i]
		if arg.In == InPath && !transport.SafePathValue(a.String(arg.Name)) {
			return unsafePath(arg.Name, arg.Name)
		}
	}
	return nil
}

// unsafePath is the envelope of an argument that cannot stand in a path; what
// names it in the message.
func unsafePath(argument, what string) *apierrors.Error {
	e := apierrors.New(apierrors.InvalidArguments, what+" cannot stand in the request's path")
	e.Pointer, e.Expected = pointer(argument), "a value that is not empty and holds no . or .. segment and no control character"
	return e
}

// pointer is the JSON pointer of an argument (RFC 6901, section 3).
func pointer(name string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
