package mcpserver

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/postern-mcp/postern/gateway/schema"
)

// maxBatch bounds a batch: each of its answers may be a whole list of tools, so
// that a short request could ask for gigabytes.
const maxBatch = 32

// survey is what is known of a body before the SDK reads it.
type survey struct {
	calls int // tools/call requests
	ids   [][]byte
}

// look surveys a message or a batch of messages. It reads exact names only, as
// the SDK does, and of a repeated member any value, so that no spelling is counted
// as less than the SDK may take it for. What it cannot read is an error, because
// the SDK's reader is more lenient in places.
func look(body []byte) (s survey, err error) {
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '[' {
		err = s.message(body)
		return s, err
	}
	n := 0
	splitErr := schema.SplitArray(body, func(message []byte) bool {
		if n++; n > maxBatch {
			err = fmt.Errorf("a batch holds at most %d messages", maxBatch)
		} else {
			err = s.message(message)
		}
		return err == nil
	})
	if err == nil {
		err = splitErr
	}
	return s, err
}

func (s *survey) message(data []byte) error {
	isCall := false
	var bad error
	err := schema.SplitObject(data, func(key string, value []byte) bool {
		switch key {
		case "method":
			method, _ := schema.String(value)
			isCall = isCall || method == "tools/call"
		case "id":
			if bad = checkID(value); bad != nil {
				return false
			}
			for _, other := range s.ids {
				if bytes.Equal(other, value) {
					bad = errors.New("two messages of the batch have the same id")
					return false
				}
			}
			s.ids = append(s.ids, value)
		}
		return true
	})
	if isCall {
		s.calls++
	}
	if bad != nil {
		return bad
	}
	if err != nil {
		return errors.New("the body is not a JSON-RPC message")
	}
	return nil
}

// checkID refuses an id that the SDK would change: it keeps numbers as 64-bit
// floats and cuts their fractions, and an answer to another id is no answer.
func checkID(raw []byte) error {
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return nil
	}
	const exact = 1 << 53
	if n, err := strconv.ParseInt(string(raw), 10, 64); err != nil || n >= exact || n <= -exact {
		return errors.New("an id is a string or a whole number below 2^53")
	}
	return nil
}
