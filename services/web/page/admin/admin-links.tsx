import { type AdminPage, adminPages } from '../app/address.ts'
import { adminPageName } from '../app/page-names.ts'
import { t } from '../texts/texts.ts'

/** The links to the pages for admins. */
export const AdminLinks = ({ page }: { page: AdminPage }) => (
  <nav class="page-nav" aria-label={t('Administration')}>
    <ul>
      {adminPages.map((one) => (
        <li key={one}>
          <a
            class="nav-link"
            href={`/admin/${one}`}
            aria-current={one === page ? 'page' : undefined}
            ref={one === page ? scrollToLink : undefined}
          >
            {adminPageName(one)}
          </a>
        </li>
      ))}
    </ul>
  </nav>
)

/** Scrolls to the current link, because on a narrow page the links are in one line that scrolls. */
const scrollToLink = (link: HTMLElement | null) => link?.scrollIntoView({ block: 'nearest', inline: 'center' })
