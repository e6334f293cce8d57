// The kinds of workloads that the page can set up: the fields of its form, the identity that it
// creates, and the snippet for the job.
import type { IdentityJson } from '@stemma/api/json/platform/iam/v2beta1/identity'

export type WorkloadField = {
  name: string
  label: string
  hint: string
  example: string
  isOptional?: boolean
}
type Values = Record<string, string>
type SnippetTarget = { server: string; identity: string }

export type Workload = {
  name: string
  fields: readonly WorkloadField[]
  /** The part of the identity by which the workload is recognised. */
  recognition(values: Values): Pick<IdentityJson, 'claimMatch' | 'awsIdentity'>
  /** Says where the snippet belongs. */
  snippetTitle: string
  snippet(target: SnippetTarget): string
}

/**
 * The kind of workload that an identity was made for, as far as its issuer and subject show it. Undefined for
 * identities that accept no token, such as people and service principals.
 */
export function workloadOf({ claimMatch, staticKeys, awsIdentity }: IdentityJson): Workload | undefined {
  const { issuer = '', subject = '', subjectPattern = '' } = claimMatch ?? {}
  const begins = (text: string) => subject.startsWith(text) || subjectPattern.startsWith(text)
  if (awsIdentity) return workloads.aws
  if (issuer === 'https://token.actions.githubusercontent.com') return workloads.github
  if (issuer === 'https://accounts.google.com') return workloads.google
  if (begins('project_path:')) return workloads.gitlab
  if (begins('system:serviceaccount:')) return workloads.kubernetes
  return claimMatch || staticKeys ? workloads.other : undefined
}

/** A pattern that matches exactly this text. */
const literal = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')

const exchange = ({ server, identity }: SnippetTarget, idToken: string) =>
  `TOKEN=$(curl -sS -H "Authorization: Bearer ${idToken}" \\
  "${server}/sts/exchange?identity=${identity}" | jq -r .token)`

const repository = {
  ...{ name: 'repository', label: 'Repository', hint: 'Owner and name.', example: 'acme/app' },
}
const branch = {
  ...{ name: 'branch', label: 'Branch', hint: 'Empty: every branch.', example: 'main', isOptional: true },
}

export const workloads: Readonly<Record<string, Workload>> = {
  github: {
    name: 'GitHub Actions',
    fields: [repository, branch],
    recognition: ({ repository: name = '', branch: ref = '' }) => ({
      claimMatch: {
        issuer: 'https://token.actions.githubusercontent.com',
        ...(ref
          ? { subject: `repo:${name}:ref:refs/heads/${ref}` }
          : { subjectPattern: `repo:${literal(name)}:ref:refs/heads/[^:]+` }),
      },
    }),
    snippetTitle: 'In the workflow',
    snippet: (target) => `permissions:
  id-token: write
steps:
  - run: |
      ID_TOKEN=$(curl -sS -H "Authorization: Bearer $ACTIONS_ID_TOKEN_REQUEST_TOKEN" \\
        "$ACTIONS_ID_TOKEN_REQUEST_URL&audience=${target.server}" | jq -r .value)
      ${exchange(target, '$ID_TOKEN').replaceAll('\n', '\n      ')}
      echo "::add-mask::$TOKEN" && echo "STEMMA_TOKEN=$TOKEN" >> "$GITHUB_ENV"`,
  },
  gitlab: {
    name: 'GitLab CI',
    fields: [
      { name: 'host', label: 'GitLab', hint: 'The URL of the instance.', example: 'https://gitlab.com' },
      { name: 'project', label: 'Project', hint: 'Group and name.', example: 'acme/app' },
      branch,
    ],
    recognition: ({ host = '', project = '', branch: ref = '' }) => ({
      claimMatch: {
        issuer: host.replace(/\/$/, ''),
        ...(ref
          ? { subject: `project_path:${project}:ref_type:branch:ref:${ref}` }
          : { subjectPattern: `project_path:${literal(project)}:ref_type:branch:ref:[^:]+` }),
      },
    }),
    snippetTitle: 'In .gitlab-ci.yml',
    snippet: (target) => `job:
  id_tokens:
    ID_TOKEN:
      aud: ${target.server}
  script:
    - |
      ${exchange(target, '$ID_TOKEN').replaceAll('\n', '\n      ')}
      export STEMMA_TOKEN=$TOKEN`,
  },
  kubernetes: {
    name: 'Kubernetes',
    fields: [
      {
        ...{ name: 'issuer', label: 'Issuer of the cluster' },
        hint: 'kubectl get --raw /.well-known/openid-configuration | jq -r .issuer',
        example: 'https://oidc.eks.eu-west-1.amazonaws.com/id/ABCDEF',
      },
      { name: 'namespace', label: 'Namespace', hint: 'Of the service account.', example: 'default' },
      { name: 'account', label: 'Service account', hint: 'Used by the pod.', example: 'deployer' },
    ],
    recognition: ({ issuer = '', namespace = '', account = '' }) => ({
      claimMatch: { issuer, subject: `system:serviceaccount:${namespace}:${account}` },
    }),
    snippetTitle: 'In the pod',
    snippet: (target) => `volumes:
  - name: stemma
    projected:
      sources:
        - serviceAccountToken:
            path: token
            audience: ${target.server}
# with the volume mounted at /var/run/stemma:
${exchange(target, '$(cat /var/run/stemma/token)')}`,
  },
  aws: {
    name: 'AWS',
    fields: [
      { name: 'account', label: 'Account', hint: 'Twelve digits.', example: '123456789012' },
      {
        ...{ name: 'role', label: 'Role', hint: 'The name of the IAM role that the workload has.' },
        example: 'deployer',
      },
    ],
    recognition: ({ account = '', role = '' }) => ({
      awsIdentity: {
        awsAccount: account,
        arnPattern: `arn:aws:sts::${literal(account)}:assumed-role/${literal(role)}/[^/]+`,
        userIdPattern: '[A-Z0-9]+:[^:]+',
      },
    }),
    snippetTitle: 'On the machine or in the function, with the credentials of its role',
    snippet: ({
      server,
      identity,
    }) => `# Python with botocore: AWS confirms who signed this request, and nothing else can be done with it.
import base64, botocore.session, urllib.request
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
host, path = "sts.amazonaws.com", "/?Action=GetCallerIdentity&Version=2011-06-15"
request = AWSRequest("POST", f"https://{host}{path}", headers={
    "Host": host, "Accept": "application/json",
    "Chainguard-Audience": "${server}", "Chainguard-Identity": "${identity}"})
SigV4Auth(botocore.session.get_session().get_credentials(), "sts", "us-east-1").add_auth(request)
lines = [f"POST {path} HTTP/1.1"] + [f"{name}: {value}" for name, value in request.headers.items()]
bearer = base64.urlsafe_b64encode("\\r\\n".join(lines + ["", ""]).encode()).decode()
print(urllib.request.urlopen(urllib.request.Request("${server}/sts/exchange?identity=${identity}",
    headers={"Authorization": f"Bearer {bearer}"})).read().decode())`,
  },
  google: {
    name: 'Google Cloud',
    fields: [
      {
        ...{ name: 'subject', label: 'Unique id of the service account' },
        hint: 'gcloud iam service-accounts describe NAME --format "value(uniqueId)"',
        example: '103456789012345678901',
      },
    ],
    recognition: ({ subject = '' }) => ({ claimMatch: { issuer: 'https://accounts.google.com', subject } }),
    snippetTitle: 'On the machine or in the function',
    snippet: (target) => `ID_TOKEN=$(curl -sS -H 'Metadata-Flavor: Google' \\
  "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/identity?audience=${target.server}")
${exchange(target, '$ID_TOKEN')}`,
  },
  other: {
    name: 'Any issuer',
    fields: [
      {
        name: 'issuer',
        label: 'Issuer',
        hint: 'An https URL with OpenID discovery.',
        example: 'https://issuer.example.com',
      },
      { name: 'subject', label: 'Subject', hint: 'The claim sub of its tokens.', example: 'job' },
      {
        ...{ name: 'audience', label: 'Audience', hint: 'Empty: the URL of this server.', example: '' },
        isOptional: true,
      },
    ],
    recognition: ({ issuer = '', subject = '', audience = '' }) => ({
      claimMatch: { issuer, subject, ...(audience && { audience }) },
    }),
    snippetTitle: 'In the job, with a token of the issuer in ID_TOKEN',
    snippet: (target) => exchange(target, '$ID_TOKEN'),
  },
}
