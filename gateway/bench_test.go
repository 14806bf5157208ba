package gateway

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// BenchmarkTidy compares tidy with the three passes of the standard library that
// it stands for.
func BenchmarkTidy(b *testing.B) {
	record := `{"id":"7f9c24e8","at":"2026-01-02T03:04:05Z","outcome":"delivered","execution_id":null,"attempts":1,"error":"a \"quoted\" thing"}`
	compact := []byte("[" + strings.Repeat(record+",", 120) + record + "]")
	var indented bytes.Buffer
	_ = json.Indent(&indented, compact, "", "  ")
	for name, body := range map[string][]byte{"compact": compact, "indented": indented.Bytes()} {
		b.Run(name+"/tidy", func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				tidy(body, nil)
			}
		})
		b.Run(name+"/redacting", func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				tidy(body, [][]string{{"trigger", "signature"}})
			}
		})
		b.Run(name+"/standard", func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				var out bytes.Buffer
				out.Grow(len(body))
				if json.Valid(body) && utf8.Valid(body) {
					_ = json.Compact(&out, body)
				}
			}
		})
	}
}
