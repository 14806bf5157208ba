package openapi

import "strings"

// maxText bounds a description inside a schema, maxDescription that of a tool:
// every conversation pays for them.
const (
	maxText        = 400
	maxDescription = 1024
)

// shortenText folds white space and cuts at the last sentence end within the
// limit, else at a word.
func shortenText(s string, limit int) string {
	s = strings.Join(strings.Fields(s), " ")
	r := []rune(s)
	if len(r) <= limit {
		return s
	}
	cut := string(r[:limit])
	if i := strings.LastIndex(cut, ". "); i > limit/3 {
		return cut[:i+1]
	}
	if i := strings.LastIndexByte(cut, ' '); i > 0 {
		cut = cut[:i]
	}
	return cut + "…"
}

// sentence ends a text with a full stop if nothing ends it.
func sentence(s string) string {
	if s == "" || strings.ContainsRune(".!?…:", []rune(s)[len([]rune(s))-1]) {
		return s
	}
	return s + "."
}
