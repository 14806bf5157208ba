package gateway

import (
	"bytes"
	"encoding/json"
)

// appendJSON appends a string as JSON, leaving <, > and & as they are.
func appendJSON(b []byte, s string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

// appendKey appends a member's name and its colon.
func appendKey(b []byte, key string) []byte {
	return append(appendJSON(b, key), ':')
}
