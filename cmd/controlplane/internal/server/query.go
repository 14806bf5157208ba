package server

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/problem"
)

// clamp reads a limit of any size; what lies outside 1 to most is moved there.
func clamp(given *string, fallback, most int) (int, error) {
	if given == nil {
		return fallback, nil
	}
	n, err := strconv.ParseFloat(*given, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || n != math.Trunc(n) {
		return 0, problem.Invalid(problem.Field{Pointer: "/limit", Detail: "must be an integer"})
	}
	return int(max(1, min(n, float64(most)))), nil
}

// oneOf refuses a value that its enum does not have.
func oneOf[T interface {
	~string
	Valid() bool
}](name string, given *T, accepted ...T) error {
	if given == nil || (*given).Valid() {
		return nil
	}
	words := strings.Trim(fmt.Sprint(accepted), "[]")
	return problem.Invalid(problem.Field{Pointer: pointer(name), Detail: "must be one of " + words})
}

// A cursor is a position in base64url, with a version in front so that a later
// one can be told from it.
const cursorVersion = "1."

func cursorAt(position int64) *string {
	if position == 0 {
		return nil
	}
	c := base64.RawURLEncoding.EncodeToString([]byte(cursorVersion + strconv.FormatInt(position, 10)))
	return &c
}

func positionOf(cursor *string) (int64, error) {
	if cursor == nil {
		return 0, nil
	}
	invalid := problem.New(problem.InvalidCursor, "the cursor was not given out by this list; start again without one")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(*cursor)
	if err != nil {
		return 0, invalid
	}
	digits, ok := strings.CutPrefix(string(raw), cursorVersion)
	position, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || position < 1 {
		return 0, invalid
	}
	return position, nil
}
