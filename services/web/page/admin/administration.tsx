import { type AdminPage, adminPages } from '../app/address.ts'
import { Page, type PageContent } from '../app/page.tsx'
import { adminPageName } from '../app/page-names.ts'
import { createPart, type Part } from '../app/part.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'

const contents: Record<AdminPage, () => Part<PageContent>> = {
  people: createPart(() => import('./people.tsx').then(({ People }) => People)),
  groups: createPart(() => import('./groups.tsx').then(({ Groups }) => Groups)),
  bots: createPart(() => import('./bots.tsx').then(({ Bots }) => Bots)),
  webhooks: createPart(() => import('./webhooks.tsx').then(({ Webhooks }) => Webhooks)),
  subscriptions: createPart(() => import('./subscriptions.tsx').then(({ Subscriptions }) => Subscriptions)),
  commands: createPart(() => import('./bot-commands.tsx').then(({ BotCommands }) => BotCommands)),
  scim: createPart(() => import('./scim-clients.tsx').then(({ ScimClients }) => ScimClients)),
  'sign-in': createPart(() => import('./sign-in-providers.tsx').then(({ SignInProviders }) => SignInProviders)),
  settings: createPart(() => import('./settings.tsx').then(({ Settings }) => Settings)),
  audit: createPart(() => import('./audit-log.tsx').then(({ AuditLog }) => AuditLog)),
  export: createPart(() => import('./export.tsx').then(({ Export }) => Export)),
}

/** The pages for admins. Each is loaded when it is first opened. */
export function Administration({ workspace, page }: { workspace: Workspace; page: AdminPage }) {
  if (workspace.isReady.value && !workspace.me.value.isAdmin) {
    return (
      <main class="main">
        <div class="empty">
          <h1>{adminPageName(page)}</h1>
          <p>{t('Only admins may see this page.')}</p>
        </div>
      </main>
    )
  }
  return (
    <Page workspace={workspace} name={adminPageName(page)} content={contents[page]()}>
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
