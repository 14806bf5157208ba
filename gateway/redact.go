package gateway

import (
	"slices"

	"github.com/postern-mcp/postern/gateway/schema"
)

// redact removes every member that a path of keys leads to, at whatever depth
// the path begins: an error body may carry the object inside another one. Keys
// are compared decoded, so neither an escaped nor a repeated key gets through,
// and elements of an array count as standing where the array stands. Everything
// else is copied as it came.
func redact(raw []byte, paths [][]string) []byte {
	return appendRedacted(make([]byte, 0, len(raw)), raw, paths, nil)
}

// appendRedacted appends raw, a valid JSON text found under the keys in trail.
func appendRedacted(dst, raw []byte, paths [][]string, trail []string) []byte {
	start := len(dst)
	dst = append(dst, '{')
	err := schema.SplitObject(raw, func(key string, value []byte) bool {
		here := append(trail, key)
		if slices.ContainsFunc(paths, func(p []string) bool { return endsWith(here, p) }) {
			return true
		}
		if len(dst) > start+1 {
			dst = append(dst, ',')
		}
		dst = appendRedacted(appendKey(dst, key), value, paths, here)
		return true
	})
	if err == nil {
		return append(dst, '}')
	}
	dst = append(dst[:start], '[')
	err = schema.SplitArray(raw, func(value []byte) bool {
		if len(dst) > start+1 {
			dst = append(dst, ',')
		}
		dst = appendRedacted(dst, value, paths, trail)
		return true
	})
	if err == nil {
		return append(dst, ']')
	}
	return append(dst[:start], raw...)
}

func endsWith(trail, path []string) bool {
	return len(trail) >= len(path) && slices.Equal(trail[len(trail)-len(path):], path)
}
