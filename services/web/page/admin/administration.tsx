import { type AdminPage, adminPages } from '../app/address.ts'
import { Page } from '../app/page.tsx'
import { adminPageName } from '../app/page-names.ts'
import { PageNav } from '../app/page-nav.tsx'
import { createPart } from '../app/part.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'

const contents = createPart(() => import('./contents.ts').then((part) => part.contents))

/** The pages for admins. Each is loaded when it is first opened. */
export function Administration({ workspace, page }: { workspace: Workspace; page: AdminPage }) {
  const loaded = contents()
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
    <Page
      workspace={workspace}
      name={adminPageName(page)}
      content={typeof loaded === 'string' ? loaded : loaded[page]()}
    >
      <PageNav name={t('Administration')} pages={adminPages} current={page} root="/admin/" nameOf={adminPageName} />
    </Page>
  )
}
