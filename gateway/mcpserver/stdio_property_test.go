package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Whatever comes at once, and whoever answers it: each request is answered exactly once,
// each answer is a whole line, and all are written before the server ends.
func TestEveryRequestOnALineIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rapid.Check(t, func(rt *rapid.T) {
		c := converse(t, w, StdioOptions{Grace: 10 * time.Second}, nil)
		c.learn(t)
		want := map[string]int{"0": 1, `"learn"`: 1}
		var hanging []string
		cancel := func(id string) string {
			return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`
		}
		message := func() string {
			id := fmt.Sprint(len(want))
			request := func(method string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `"}` }
			kind := rapid.IntRange(0, 7).Draw(rt, "kind")
			if kind == 0 && len(hanging) > 0 {
				first := hanging[0]
				hanging = hanging[1:]
				return cancel(first)
			}
			want[id] = 1
			switch kind {
			case 0, 1:
				hanging = append(hanging, id)
				return callOf(id, "hang", `{}`)
			case 2:
				return request("ping")
			case 3:
				return request("tools/list")
			case 4: // a spelling that no template is for
				return strings.Replace(callOf(id, "echo", `{}`), "tools/", `tools\/`, 1)
			}
			return callOf(id, "echo", `{"q":"`+strings.Repeat("z", rapid.IntRange(0, 3000).Draw(rt, "length"))+`"}`)
		}
		for range rapid.IntRange(0, 40).Draw(rt, "lines") {
			batch := make([]string, rapid.SampledFrom([]int{0, 0, 0, 1, 5}).Draw(rt, "batch"))
			for i := range batch {
				batch[i] = message()
			}
			if len(batch) == 0 {
				c.say(message())
			} else {
				c.say("[" + strings.Join(batch, ",") + "]")
			}
		}
		for _, id := range hanging {
			c.say(cancel(id))
		}
		_ = c.in.Close()
		if err := c.end(t, 20*time.Second); err != nil {
			rt.Error(err)
		}
		got := map[string]int{}
		for _, m := range parse(t, c.out.String()) {
			id, _ := json.Marshal(m.ID)
			got[string(id)]++
		}
		if diff := cmp.Diff(want, got); diff != "" || c.out.broken {
			rt.Errorf("broken lines %t, answers (-want +got):\n%s", c.out.broken, diff)
		}
	})
}
