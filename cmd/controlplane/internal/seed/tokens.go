package seed

// Scopes are all scopes there are.
var Scopes = []string{
	"projects:read", "queue_triggers:read", "queue_triggers:write", "queues:publish",
	"executions:read", "logs:read", "triggers:read", "triggers:write",
}

var readScopes = []string{"projects:read", "queue_triggers:read", "executions:read", "logs:read", "triggers:read"}

// Token is one PAT of the demo. Its value is no secret: it opens a demo on
// loopback and nothing else.
type Token struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// May says in words what the token may do.
	May string `json:"may"`

	id         string
	user       string
	scopes     []string
	confinedTo string
	expired    bool
	revoked    bool
}

// Tokens are the PATs of the demo.
var Tokens = []Token{
	{Name: "full", Value: "viat_demo_full", May: "everything, as owner of mcp-lab, other-lab and the not activated dormant-lab",
		id: "pat_demo_full", user: owner, scopes: Scopes},
	{Name: "admin", Value: "viat_demo_admin", May: "everything in mcp-lab, as admin",
		id: "pat_demo_admin", user: admin, scopes: Scopes},
	{Name: "developer", Value: "viat_demo_developer", May: "everything in mcp-lab, as developer",
		id: "pat_demo_developer", user: developer, scopes: Scopes},
	{Name: "viewer", Value: "viat_demo_viewer", May: "every scope in mcp-lab, but as viewer: fires, publishing and changes are refused with 403 role_insufficient",
		id: "pat_demo_viewer", user: viewer, scopes: Scopes},
	{Name: "confined", Value: "viat_demo_confined", May: "the owner's rights in other-lab only; mcp-lab is refused with 403 project_confined",
		id: "pat_demo_confined", user: owner, scopes: Scopes, confinedTo: OtherLab},
	{Name: "readonly", Value: "viat_demo_readonly", May: "the owner's rights to read; writing is refused with 403 scope_missing",
		id: "pat_demo_readonly", user: owner, scopes: readScopes},
	{Name: "expired", Value: "viat_demo_expired", May: "nothing: 401 token_expired",
		id: "pat_demo_expired", user: owner, scopes: Scopes, expired: true},
	{Name: "revoked", Value: "viat_demo_revoked", May: "nothing: 401 token_revoked",
		id: "pat_demo_revoked", user: owner, scopes: Scopes, revoked: true},
}
