import { type AdminPage, adminPages } from '../app/address.ts'
import { Page } from '../app/page.tsx'
import { adminPageName } from '../app/page-names.ts'
import { createPart, partOf } from '../app/part.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'

const onlyAdmins = createPart(() => import('./only-admins.tsx').then((part) => part.OnlyAdmins))
const contents = createPart(() => import('./contents.ts').then((part) => part.contents))

/** The pages for admins. Each is loaded when it is first opened. */
export function Administration({ workspace, page }: { workspace: Workspace; page: AdminPage }) {
  const name = adminPageName(page)
  if (workspace.isReady.value && !workspace.me.value.isAdmin)
    return <Page workspace={workspace} name={name} content={onlyAdmins()} />
  return (
    <Page workspace={workspace} name={name} content={partOf(contents(), page)}>
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
    </Page>
  )
}

/** Scrolls to the current link, because on a narrow page the links are in one line that scrolls. */
const scrollToLink = (link: HTMLElement | null) => link?.scrollIntoView({ block: 'nearest', inline: 'center' })
