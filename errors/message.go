package errors

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxItems = 10 // of a list of errors
	maxDepth = 4  // of errors inside errors
)

// message returns what an error body says, or the status in words.
func message(status int, contentType string, body []byte) string {
	fallback := "status " + strconv.Itoa(status)
	if text := http.StatusText(status); text != "" {
		fallback = strconv.Itoa(status) + " " + strings.ToLower(text)
	}
	// The text of a redirect names where it leads to, query included.
	if len(body) == 0 || status/100 == 3 {
		return fallback
	}
	media, _, _ := mime.ParseMediaType(contentType)
	switch body[0] {
	case '{', '[', '"':
		if json.Valid(body) {
			if text := clean(fromJSON(body, maxDepth)); text != "" {
				return text
			}
		}
		return fallback
	case '<':
		if strings.HasSuffix(media, "xml") && media != "application/xhtml+xml" || bytes.HasPrefix(body, []byte("<?xml")) {
			return fallback + " (XML document)"
		}
		return fallback + " (HTML page)"
	}
	// Many a server says application/json and sends a line of text.
	textual := strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "json") || contentType == "" && utf8.Valid(body)
	if line, _, _ := bytes.Cut(body, []byte("\n")); textual {
		if text := clean(string(line)); text != "" {
			return text
		}
	}
	return fallback
}

// shapes are the members under which APIs say what went wrong. Their names
// match in any letter case, as encoding/json does, so Message is one too.
type shapes struct {
	Detail      json.RawMessage `json:"detail"`            // RFC 9457; a list in FastAPI
	Message     json.RawMessage `json:"message"`           // most others
	Description json.RawMessage `json:"error_description"` // RFC 6749
	Error       json.RawMessage `json:"error"`             // a string or an object
	Title       json.RawMessage `json:"title"`             // RFC 9457
	Errors      json.RawMessage `json:"errors"`            // GraphQL, JSON:API, lists of strings
	Msg         json.RawMessage `json:"msg"`               // an item of FastAPI's list
	Loc         json.RawMessage `json:"loc"`               // where that item was found
}

// fromJSON returns the text in a JSON value that is known to be valid: a
// string itself, of a list its items, of an object the first member that
// says something.
func fromJSON(value json.RawMessage, depth int) string {
	if len(value) == 0 || depth == 0 {
		return ""
	}
	switch value[0] {
	case '"':
		var s string
		if json.Unmarshal(value, &s) != nil {
			return ""
		}
		return s
	case '[':
		return strings.Join(items(value, func(item json.RawMessage) string { return fromJSON(item, depth-1) }), "; ")
	case '{':
		var s shapes
		if json.Unmarshal(value, &s) != nil {
			return ""
		}
		for _, member := range []json.RawMessage{s.Detail, s.Message, s.Description, s.Error, s.Title, s.Errors} {
			if text := fromJSON(member, depth-1); text != "" {
				return text
			}
		}
		text := fromJSON(s.Msg, depth-1)
		if path := location(s.Loc); path != "" && text != "" {
			return path + ": " + text
		}
		return text
	}
	return ""
}

// location joins the names and indexes of a FastAPI location with dots.
func location(value json.RawMessage) string {
	if len(value) == 0 || value[0] != '[' {
		return ""
	}
	return strings.Join(items(value, func(item json.RawMessage) string {
		if item[0] == '{' || item[0] == '[' {
			return ""
		}
		return strings.Trim(string(item), `"`)
	}), ".")
}

// items returns the texts of the first items of a list, reading no further.
func items(list json.RawMessage, text func(json.RawMessage) string) []string {
	dec := json.NewDecoder(bytes.NewReader(list))
	if _, err := dec.Token(); err != nil {
		return nil
	}
	var texts []string
	for range maxItems {
		var item json.RawMessage
		if !dec.More() || dec.Decode(&item) != nil {
			break
		}
		if s := text(item); s != "" {
			texts = append(texts, s)
		}
	}
	return texts
}
