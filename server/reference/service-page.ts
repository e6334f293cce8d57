// The page of a service: its calls, each with fields, errors, an example and a form to try it, and its types.
import type { Service } from '@stemma/api/reference/operations.ts'
import type { OperationPart, Row, TypePart } from '@stemma/api/reference/page.ts'
import { anchorOf, localName, pageOf } from '@stemma/api/reference/page.ts'
import type { Html } from '../pages/html.ts'
import { html } from '../pages/html.ts'
import { codeBlock } from './guide-page.ts'
import { call } from './index-page.ts'
import type { Site } from './layout.ts'
import { page } from './layout.ts'
import { inline, prose } from './prose.ts'
import { confirmation, tryIt } from './try-it.ts'

export function servicePage(site: Site, service: Service): string {
  const { title, version, slug, desc } = service
  const { operations, types } = pageOf(service)
  return page(site, {
    title: `${title} (${version})`,
    slug,
    body: html`${prose(service.description)}<p class="quiet">gRPC: <code>${desc.typeName}</code></p>
<ul class="calls">${operations.map(({ operation, anchor }) => html`<li><a href="#${anchor}">${call(operation)}</a> <span class="quiet">${inline(operation.summary)}</span></li>`)}</ul>
${operations.map((part) => operationArticle(site, part))}
${types.length > 0 && html`<h2>Types</h2>`}${types.map(typeSection)}
${confirmation(site)}`,
    contents: operations.map(
      ({ operation, anchor }) => html`<a href="#${anchor}">${operation.method.desc.name}</a>`,
    ),
  })
}

function operationArticle(site: Site, part: OperationPart): Html {
  const { operation, anchor, parameters, body, response, errors, curl } = part
  const { method, summary, details, access } = operation
  return html`<article id="${anchor}" class="card"><h2><a href="#${anchor}">${method.desc.name}</a></h2>
<p class="call">${call(operation)}</p>
<p>${inline(`${summary}.`)}</p>${prose(details)}
<p class="access">${inline(access)}</p>
${parameters.length > 0 && html`<h3>Parameters</h3>${rowList(parameters)}`}
${body && html`<h3>Body</h3><p class="quiet">${body.type}. ${inline(body.description)}</p>${rowList(body.rows)}`}
<h3>Response</h3><p>${linked(response.description, response.typeName)}</p>
<h3><a href="${site.prefix}/docs#errors">Errors</a></h3><p>${errors.map(({ status, name }) => `${status} ${name}`).join(', ')}</p>
<h3>Example</h3>${codeBlock(site, 'sh', curl)}
${tryIt(part)}</article>`
}

function typeSection({ name, anchor, description, rows, values }: TypePart): Html {
  return html`<section id="${anchor}" class="card"><h2><a href="#${anchor}">${name}</a></h2>${prose(description)}
${rows && rowList(rows)}${values && valueList(values)}</section>`
}

function valueList(values: { name: string; description: string }[]): Html {
  if (values.every(({ description }) => description === ''))
    return html`<p>${values.map(({ name }, at) => html`${at > 0 && ', '}<code>${name}</code>`)}</p>`
  return html`<dl>${values.map(({ name, description }) => html`<dt><code>${name}</code></dt><dd>${inline(description)}</dd>`)}</dl>`
}

function rowList(rows: Row[]): Html {
  if (rows.length === 0) return html`<p>No fields.</p>`
  return html`<dl class="rows">${rows.map(
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
