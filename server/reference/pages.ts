// The reference as pages: one that lists every call, and one for each service. They can be read without scripts.
import { errorResponses } from '@stemma/api/reference/error-responses.ts'
import { introduction } from '@stemma/api/reference/introduction.ts'
import type { Operation, Service } from '@stemma/api/reference/operations.ts'
import { describeServices } from '@stemma/api/reference/operations.ts'
import type { OperationPart, Row, TypePart } from '@stemma/api/reference/page.ts'
import { anchorOf, localName, pageOf } from '@stemma/api/reference/page.ts'
import { Html, html } from '../pages/html.ts'
import { script, style } from './style.ts'

export { policy } from './style.ts'

const services = describeServices()

export function indexPage(): string {
  return page(
    'API reference',
    html`<search hidden><label for="words">Find a call</label><input id="words" type="search" autocomplete="off">
<output class="quiet"></output></search>
<section class="introduction">${prose(introduction)}</section>
${services.map(serviceSection)}
<section id="errors"><h2>Errors</h2><dl>${Object.values(errorResponses).map(
      ({ status, name, description }) => html`<dt>${status} ${name}</dt><dd>${inline(description)}</dd>`,
    )}</dl></section>
<script>${new Html(script)}</script>`,
    html`<a href="openapi.json">OpenAPI</a>`,
  )
}

function serviceSection(service: Service): Html {
  const { slug, description } = service
  return html`<section class="service"><h2><a href="docs/${slug}">${nameOf(service)}</a></h2><p>${inline(description)}</p>
<ul>${pageOf(service).operations.map(
    ({ operation, anchor }) =>
      html`<li><a href="docs/${slug}#${anchor}">${call(operation)}</a><p class="quiet">${inline(operation.summary)}</p></li>`,
  )}</ul></section>`
}

const nameOf = ({ title, version }: Service) => `${title} (${version})`

const call = ({ verb, path }: Operation) =>
  html`<span class="verb">${verb}</span> <code>${breakable(path)}</code>`

/** Lets a browser wrap a long path after a slash rather than inside a segment. */
const breakable = (path: string) =>
  path.split('/').map((segment, at) => html`${at > 0 && new Html('/<wbr>')}${segment}`)

export function servicePage(slug: string): string {
  const service = services.find((candidate) => candidate.slug === slug)
  if (!service) throw new Error(`there is no page ${slug}`)
  const { operations, types } = pageOf(service)
  return page(
    nameOf(service),
    html`<section>${prose(service.description)}<p class="quiet">gRPC: <code>${service.desc.typeName}</code></p>
<ul>${operations.map(({ operation, anchor }) => html`<li><a href="#${anchor}">${call(operation)}</a></li>`)}</ul></section>
${operations.map(operationArticle)}
${types.length > 0 && html`<h2>Types</h2>`}${types.map(typeSection)}`,
    html`<a href="../docs">All calls</a> <a href="../openapi.json">OpenAPI</a>`,
  )
}

function operationArticle({
  operation,
  anchor,
  parameters,
  body,
  response,
  errors,
  curl,
}: OperationPart): Html {
  const { method, summary, details, access } = operation
  return html`<article id="${anchor}"><h2><a href="#${anchor}">${method.desc.name}</a></h2>
<p class="call">${call(operation)}</p>
<p>${inline(`${summary}.`)}</p>${prose(details)}
<p>${inline(access)}</p>
${parameters.length > 0 && html`<h3>Parameters</h3>${rowList(parameters)}`}
${body && html`<h3>Body</h3><p class="quiet">${body.type}. ${inline(body.description)}</p>${rowList(body.rows)}`}
<h3>Response</h3><p>${linked(response.description, response.typeName)}</p>
<h3><a href="../docs#errors">Errors</a></h3><p>${errors.map(({ status, name }) => `${status} ${name}`).join(', ')}</p>
<pre tabindex="0"><code>${curl}</code></pre></article>`
}

function typeSection({ name, anchor, description, rows, values }: TypePart): Html {
  return html`<section id="${anchor}"><h2><a href="#${anchor}">${name}</a></h2>${prose(description)}
${rows && rowList(rows)}${values && valueList(values)}</section>`
}

function valueList(values: { name: string; description: string }[]): Html {
  if (values.every(({ description }) => description === ''))
    return html`<p>${values.map(({ name }, at) => html`${at > 0 && ', '}<code>${name}</code>`)}</p>`
  return html`<dl>${values.map(({ name, description }) => html`<dt><code>${name}</code></dt><dd>${inline(description)}</dd>`)}</dl>`
}

function rowList(rows: Row[]): Html {
  if (rows.length === 0) return html`<p>No fields.</p>`
  return html`<dl>${rows.map(
    ({ name, type, typeName, description, notes }) =>
      html`<dt><code>${name}</code> <span class="quiet">${linked(type, typeName)}</span></dt>
<dd>${inline(description)} ${notes.length > 0 && html`<span class="quiet">${inline(notes.join('; '))}</span>`}</dd>`,
  )}</dl>`
}

/** Links the name of the type in the text to the section of the type. */
function linked(text: string, typeName: string | undefined): Html {
  if (typeName === undefined) return html`${text}`
  const name = localName(typeName)
  const at = text.indexOf(name)
  const link = html`<a href="#${anchorOf(`type ${name}`)}">${name}</a>`
  return html`${text.slice(0, at)}${link}${text.slice(at + name.length)}`
}

const prose = (text: string) =>
  text === '' ? html`` : html`${text.split('\n\n').map((paragraph) => html`<p>${inline(paragraph)}</p>`)}`

/** Renders the Markdown that comments of protos may contain: code and strong text. */
function inline(text: string): Html {
  const parts = text.split(/(`[^`]+`|\*\*[^*]+\*\*)/)
  return html`${parts.map((part, at) => {
    if (at % 2 === 0) return html`${part}`
    return part.startsWith('`')
      ? html`<code>${part.slice(1, -1)}</code>`
      : html`<strong>${part.slice(2, -2)}</strong>`
  })}`
}

function page(title: string, body: Html, links: Html): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Stemma</title>
<style>${new Html(style)}</style>
</head>
<body>
<header><strong>Stemma</strong> ${links}</header>
<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`.text
}
