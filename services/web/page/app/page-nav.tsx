interface PageNavProps<T extends string> {
  name: string
  pages: readonly T[]
  current: T
  /** The address of all pages, without their names. */
  root: string
  nameOf: (page: T) => string
}

/** The links to pages that belong together. On a narrow page they are in one line that scrolls. */
export const PageNav = <T extends string>({ name, pages, current, root, nameOf }: PageNavProps<T>) => (
  <nav class="page-nav" aria-label={name}>
    <ul>
      {pages.map((page) => (
        <li key={page}>
          <a
            class="nav-link"
            href={root + page}
            aria-current={page === current ? 'page' : undefined}
            ref={page === current ? scrollToLink : undefined}
          >
            {nameOf(page)}
          </a>
        </li>
      ))}
    </ul>
  </nav>
)

/** Scrolls to the current link, because on a narrow page the links are in one line that scrolls. */
const scrollToLink = (link: HTMLElement | null) => link?.scrollIntoView({ block: 'nearest', inline: 'center' })
