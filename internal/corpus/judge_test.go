package corpus

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// judge holds requests against the document, as kin-openapi reads it.
type judge struct {
	doc  *openapi3.T
	base string // what the first server puts before every path
}

// newJudge loads a document without validating it: nearly none would pass.
func newJudge(document string, tools []tool) (*judge, error) {
	data, err := os.ReadFile(filepath.Join(folder, document))
	if err != nil {
		return nil, err
	}
	if data, err = soften(data); err != nil {
		return nil, err
	}
	doc, err := load(data)
	if err != nil {
		return nil, err
	}
	j := &judge{doc: doc}
	for _, item := range doc.Paths.Map() {
		item.Parameters = slices.DeleteFunc(item.Parameters, noParameter)
		for _, op := range item.Operations() {
			op.Parameters = slices.DeleteFunc(op.Parameters, noParameter)
			// Credentials are not what is tried here.
			op.Security = &openapi3.SecurityRequirements{}
			if op.RequestBody != nil && op.RequestBody.Value != nil {
				register(op.RequestBody.Value.Content)
			}
		}
	}
	j.base = j.findBase(tools)
	return j, nil
}

// noParameter reports headers that are not parameters, says OpenAPI; the library
// takes them for such.
func noParameter(p *openapi3.ParameterRef) bool {
	return p.Value != nil && p.Value.In == "header" && slices.Contains([]string{"accept", "content-type", "authorization"}, strings.ToLower(p.Value.Name))
}

func load(data []byte) (*openapi3.T, error) {
	var version struct{ Swagger string }
	if err := json.Unmarshal(data, &version); err != nil || version.Swagger == "" {
		return openapi3.NewLoader().LoadFromData(data)
	}
	var old openapi2.T
	if err := json.Unmarshal(data, &old); err != nil {
		return nil, err
	}
	return openapi2conv.ToV3(&old)
}

// asBytes are the media types that the library reads as bytes.
var asBytes = map[string]bool{"application/octet-stream": true}

// register teaches the library media types that it only knows the family of.
func register(content openapi3.Content) {
	for name := range content {
		base, _, _ := strings.Cut(name, ";")
		base = strings.ToLower(strings.TrimSpace(base))
		if openapi3filter.RegisteredBodyDecoder(base) != nil {
			continue
		}
		switch {
		case strings.HasSuffix(base, "json"):
			openapi3filter.RegisterBodyDecoder(base, openapi3filter.JSONBodyDecoder)
		case strings.HasPrefix(base, "text/"), strings.HasSuffix(base, "xml"), strings.HasSuffix(base, "yaml"):
			openapi3filter.RegisterBodyDecoder(base, openapi3filter.PlainBodyDecoder)
		default:
			openapi3filter.RegisterBodyDecoder(base, openapi3filter.FileBodyDecoder)
			asBytes[base] = true
		}
	}
}

// findBase is what every tool's path has before a path of the document.
func (j *judge) findBase(tools []tool) string {
	if len(tools) == 0 {
		return ""
	}
	first := tools[0].Path
	for i := 0; i < len(first); i++ {
		ok := !slices.ContainsFunc(tools, func(t tool) bool {
			return len(t.Path) < i || t.Path[:i] != first[:i] || j.doc.Paths.Value(t.Path[i:]) == nil
		})
		if ok {
			return first[:i]
		}
	}
	return ""
}

// errUnjudged is what the library cannot say anything about.
var errUnjudged = errors.New("not checkable")

// judge says whether a request is one of the tool's operation.
func (j *judge) judge(t tool, r *arrived) error {
	path := strings.TrimPrefix(t.Path, j.base)
	item := j.doc.Paths.Value(path)
	if item == nil || item.GetOperation(t.Method) == nil {
		return fmt.Errorf("%w: the library has no such operation", errUnjudged)
	}
	if r.method != t.Method {
		return fmt.Errorf("method %s instead of %s", r.method, t.Method)
	}
	params, ok := match(t.Path, r.url.EscapedPath())
	if !ok {
		return fmt.Errorf("path %s does not match %s", r.url.EscapedPath(), t.Path)
	}
	if r.header.Get("Accept-Encoding") == "gzip" {
		// Go's client asks for it by itself, hop by hop, and not as a parameter.
		r.header.Del("Accept-Encoding")
	}
	for _, list := range []openapi3.Parameters{item.Parameters, item.GetOperation(t.Method).Parameters} {
		for _, p := range list { // {DefinitionId} is meant by the parameter definitionId
			for name, value := range params {
				if p.Value != nil && p.Value.In == "path" && strings.EqualFold(name, p.Value.Name) {
					params[p.Value.Name] = value
				}
			}
		}
	}
	req := &http.Request{Method: r.method, URL: r.url, Header: r.header, Body: io.NopCloser(bytes.NewReader(r.body)), ContentLength: int64(len(r.body))}
	input := &openapi3filter.RequestValidationInput{
		Request: req, PathParams: params,
		Route:   &routers.Route{Spec: j.doc, Path: path, PathItem: item, Method: t.Method, Operation: item.GetOperation(t.Method)},
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, SkipSettingDefaults: true},
	}
	return validate(input)
}

// validate takes a panic of the library for what it is.
func validate(input *openapi3filter.RequestValidationInput) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: the library panics: %v", errUnjudged, p)
		}
	}()
	if err = openapi3filter.ValidateRequest(input.Request.Context(), input); err == nil {
		return nil
	}
	if why := limit(err); why != "" {
		return fmt.Errorf("%w: %s: %w", errUnjudged, why, err)
	}
	return err
}

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// match takes the path parameters out of an escaped path.
func match(template, escaped string) (map[string]string, bool) {
	template, _, _ = strings.Cut(template, "#")
	template, _, _ = strings.Cut(template, "?")
	var pattern strings.Builder
	var names []string
	rest := template
	for _, at := range placeholder.FindAllStringIndex(template, -1) {
		literal := rest[:at[0]-(len(template)-len(rest))]
		pattern.WriteString(spelled(literal) + "([^/]+?)")
		names = append(names, template[at[0]+1:at[1]-1])
		rest = template[at[1]:]
	}
	pattern.WriteString(spelled(rest))
	values := regexp.MustCompile("^" + pattern.String() + "$").FindStringSubmatch(escaped)
	if values == nil {
		return nil, false
	}
	params := map[string]string{}
	for i, name := range names {
		value, err := url.PathUnescape(values[i+1])
		if err != nil {
			return nil, false
		}
		params[name] = value
	}
	return params, true
}

// spelled is a pattern of a literal whose characters may be percent-encoded.
func spelled(literal string) string {
	var b strings.Builder
	for i := range len(literal) {
		fmt.Fprintf(&b, "(?:%s|%%%02X)", regexp.QuoteMeta(string(rune(literal[i]))), literal[i])
	}
	return b.String()
}

func TestMatch(t *testing.T) {
	got, ok := match("/a/{x}.{y}:start/{z}/*", "/a/b.c:start/d%2Fe/*")
	if !ok || got["x"] != "b" || got["y"] != "c" || got["z"] != "d/e" {
		t.Errorf("%v %v", got, ok)
	}
	if _, ok := match("/a/{x}", "/a/b/c"); ok {
		t.Error("a value holds a slash")
	}
}
