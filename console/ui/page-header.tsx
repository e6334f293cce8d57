import type { ComponentChildren } from 'preact'

export type PageHeaderProps = {
  title: ComponentChildren
  /** One sentence about the page, below the title. */
  about?: ComponentChildren
  /** Buttons at the end of the line. */
  actions?: ComponentChildren
}

/** The title gets the focus when the page opens (router.ts), and by “Skip to content” (shell.tsx). */
export const PageHeader = ({ title, about, actions }: PageHeaderProps) => (
  <header class="page-header">
    <div>
      <h1 id="heading" tabIndex={-1} dir="auto">
        {title}
      </h1>
      {about && <p class="quiet">{about}</p>}
    </div>
    {actions && <div class="actions">{actions}</div>}
  </header>
)
