package command

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/postern-mcp/postern/gateway/catalog"
)

// A signal that comes while serve starts is an end like any other.
func TestServeToldToStopWhileItStarts(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, host := range []string{"localhost", "127.0.0.1"} { // with a name to look up, and without
		var out, errs bytes.Buffer
		p := &process{catalog: &catalog.Gateway, args: []string{"serve", "--api-url=http://127.0.0.1:1", "--listen=" + host + ":0"}, in: strings.NewReader(""), out: &out, err: &errs}
		if status := p.run(ctx); status != exitOK {
			t.Errorf("%s: status %d: %s", host, status, &errs)
		}
	}
}
