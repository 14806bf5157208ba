package errors

// hints are the next steps for statuses about which an operation says nothing.
var hints = map[int]string{
	400: "Correct the arguments as the message says; the same call gives the same answer.",
	401: "The upstream did not accept the token: it may be unknown, expired or revoked.",
	403: "The token is known but may not do this; check its scopes and the role of its owner.",
	404: "Check the names and ids in the arguments; what a token may not see can also look missing.",
	405: "The upstream does not offer this operation; its version may differ from the tool's contract.",
	408: "The upstream gave up waiting; call again.",
	409: "Read the current state again, then decide.",
	410: "It existed and is gone; look for what replaced it.",
	412: "It changed in between; read the current state again, then decide.",
	413: "Send less at once.",
	422: "Correct the arguments as the message says; the same call gives the same answer.",
	425: "Call again.",
	429: "Wait for retry_after_seconds, or some seconds, before the next call.",
	500: "The upstream failed; before repeating a write, read whether it took effect.",
	501: "The upstream does not implement this operation.",
	502: "The upstream is unreachable behind its proxy; before repeating a write, read whether it took effect.",
	503: "The upstream is overloaded or restarting; try again later.",
	504: "The upstream was too slow; before repeating a write, read whether it took effect.",
}

func hint(status int, own []StatusHint) string {
	for _, h := range own {
		if h.Status == status {
			return h.Hint
		}
	}
	if status/100 == 3 {
		return "Redirects are never followed; the operator should check the gateway's base URL."
	}
	return hints[status]
}
