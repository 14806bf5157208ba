package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	apierrors "github.com/postern-mcp/postern/errors"
)

// limits reads every answer to its end, up to the limit, so that whoever comes
// after it, the retry above all, deals with a complete answer or an error.
type limits struct {
	next http.RoundTripper
	max  int64
}

// body is an answer's body in memory.
type body struct {
	bytes.Reader
	data      []byte
	truncated bool
}

// Close implements [io.Closer].
func (*body) Close() error { return nil }

// bodyError is a body that could not be read to its end.
type bodyError struct {
	status int
	data   []byte // what was read before
	err    error
}

// Error implements error.
func (e *bodyError) Error() string { return fmt.Sprintf("read body: %v", e.err) }

// Unwrap returns what reading failed with.
func (e *bodyError) Unwrap() error { return e.err }

// RoundTrip implements [http.RoundTripper]. An answer that is not a success
// comes back even with a broken or overlong body: its status says enough.
func (l *limits) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	success := resp.StatusCode/100 == 2
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
		resp.ContentLength = 0 // its body is the connection, which never ends
		resp.Body = http.NoBody
	case resp.StatusCode/100 == 3:
		// Where a redirect leads is nobody's business, and http.Client fails on
		// a Location that it cannot parse.
		resp.Header.Del("Location")
	}
	b := &body{}
	over := success && resp.Body != http.NoBody && resp.ContentLength > l.max
	if !over {
		if b.data, over, err = read(resp, l.max); err != nil && success {
			return nil, &bodyError{resp.StatusCode, b.data, err}
		}
	}
	if over && success {
		e := apierrors.New(apierrors.ResponseTooLarge, fmt.Sprintf("the answer is larger than %d bytes", l.max))
		e.Status, e.Hint = resp.StatusCode, "Ask for less: a smaller limit or a narrower filter."
		return nil, e
	}
	b.truncated = over || err != nil
	b.Reset(b.data)
	resp.Body = b
	return resp, nil
}

// read returns at most limit bytes of the body; over says that there is more.
func read(resp *http.Response, limit int64) (data []byte, over bool, err error) {
	if resp.Body == http.NoBody {
		return nil, false, nil
	}
	if n := resp.ContentLength; 0 <= n && n <= limit {
		data = make([]byte, n)
		var got int
		got, err = readFull(resp.Body, data)
		return data[:got], false, err
	}
	var usual [1]*[segment]byte
	parts := usual[:0]
	defer func() {
		for _, part := range parts {
			segments.Put(part)
		}
	}()
	got := 0
	for {
		if got == len(parts)*segment {
			parts = append(parts, segments.Get().(*[segment]byte))
		}
		room := parts[len(parts)-1][got%segment:]
		var n int
		n, err = resp.Body.Read(room[:min(int64(len(room)), limit+1-int64(got))])
		got += n
		if int64(got) > limit {
			got, over, err = int(limit), true, nil
			break
		}
		if err != nil {
			break
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	data = make([]byte, got)
	for i, part := range parts {
		copy(data[i*segment:], part[:])
	}
	return data, over, err
}

// readFull fills data, whose length the server announced, and reads on to the
// end of the body, without which the connection could not be used again.
func readFull(r io.Reader, data []byte) (got int, err error) {
	for got < len(data) {
		var n int
		n, err = r.Read(data[got:])
		got += n
		if err == io.EOF && got == len(data) {
			return got, nil
		}
		if err == io.EOF {
			return got, io.ErrUnexpectedEOF
		}
		if err != nil {
			return got, err
		}
	}
	var more [1]byte
	if _, err = io.ReadFull(r, more[:]); err == io.EOF {
		return got, nil
	}
	return got, err
}

// segments holds what bodies of unknown length are read into, to be copied once to their
// exact size.
var segments = sync.Pool{New: func() any { return new([segment]byte) }}

// segment is the size of each in bytes.
const segment = 32 << 10
