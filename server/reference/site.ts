// All pages at /docs. Loaded at the first request of a page.
import { describeServices } from '@stemma/api/reference/operations.ts'
import { prefixOf } from '../pages/url-prefix.ts'
import { guidePage } from './guide-page.ts'
import type { GuideSection } from './guides.ts'
import { pictures } from './guides.ts'
import { openIndex } from './index-page.ts'
import type { Site } from './layout.ts'
import { policy } from './layout.ts'
import { servicePage } from './service-page.ts'

export function openSite(baseUrl: string, sections: GuideSection[]) {
  const services = describeServices()
  const guides = sections.flatMap((section) => section.guides)
  const site: Site = {
    ...{ baseUrl, sections, services },
    prefix: prefixOf(baseUrl),
    slugs: new Set([...guides, ...services].map(({ slug }) => slug)),
    pictures: new Set(pictures().map(([path]) => path)),
  }
  const index = openIndex(site)
  return {
    search: (text: string) => ({ body: index(text), policy }),
    page(slug: string) {
      const guide = guides.find((candidate) => candidate.slug === slug)
      if (guide) return { body: guidePage(site, guide), policy }
      const service = services.find((candidate) => candidate.slug === slug)
      if (service) return { body: servicePage(site, service), policy }
      throw new Error(`there is no page ${slug}`)
    },
  }
}
