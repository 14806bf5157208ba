package transport

import "net/url"

// SafePathValue reports whether value may stand for a path parameter: it is not
// empty and, however often it is percent-decoded, no dot segment and free of
// control characters. [Call.Do] refuses the finished URL on the same grounds;
// asking first lets a caller name the argument at fault.
func SafePathValue(value string) bool {
	return value != "" && safeValue(url.PathEscape(value))
}
