package api

import (
	"bytes"
	"encoding/json"
)

// Marshal is json.Marshal without its HTML escaping, which would rewrite <, >
// and & inside JSON that somebody else spelled.
func Marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}
