package schema_test

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/postern-mcp/postern/gateway/schema"
)

const (
	typicalSchema = `{"type":"object","properties":{
		"project":{"type":["string","null"],"description":"Project slug.","minLength":1,"maxLength":63,"pattern":"^[a-z0-9-]+$"},
		"name":{"type":"string","minLength":1,"maxLength":255},
		"mode":{"type":["string","null"],"enum":["act","ask",null]},
		"limit":{"type":["integer","null"],"minimum":1,"maximum":100},
		"tags":{"type":["array","null"],"items":{"type":"string"},"uniqueItems":true}},
		"required":["name"],"additionalProperties":false}`
	typicalInstance = `{"name":"nightly build","mode":"ask","limit":25}`
)

func BenchmarkValidate(b *testing.B) {
	b.Run("postern", func(b *testing.B) {
		s, instance := compile(b, typicalSchema), []byte(typicalInstance)
		b.ReportAllocs()
		for b.Loop() {
			if v := s.Validate(instance); v != nil {
				b.Fatal(v)
			}
		}
	})
	b.Run("santhosh-tekuri", func(b *testing.B) {
		s, err := oracle(typicalSchema)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(typicalInstance))
			if err != nil {
				b.Fatal(err)
			}
			if err := s.Validate(value); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkViolation(b *testing.B) {
	s, instance := compile(b, typicalSchema), []byte(`{"name":"nightly build","limit":"ten"}`)
	b.ReportAllocs()
	for b.Loop() {
		if s.Validate(instance) == nil {
			b.Fatal("it passed")
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	b.Run("postern", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			compile(b, typicalSchema)
		}
	})
	b.Run("santhosh-tekuri", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := oracle(typicalSchema); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	instance := []byte(typicalInstance)
	b.ReportAllocs()
	for b.Loop() {
		if err := schema.Check(instance, 64); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSplitObject(b *testing.B) {
	instance := []byte(typicalInstance)
	b.ReportAllocs()
	for b.Loop() {
		if err := schema.SplitObject(instance, func(string, []byte) bool { return true }); err != nil {
			b.Fatal(err)
		}
	}
}
