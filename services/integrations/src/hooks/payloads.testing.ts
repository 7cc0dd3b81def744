/**
 * Payloads as well-known programs post them to Slack: the same fields, filled with our own texts. `shows` lists the texts that the
 * message's content must have.
 */
interface Payload {
  payload: object
  shows: string[]
  color: string | null
}

/** Alertmanager: `slack_configs` sends one attachment, whose `mrkdwn_in` names the fields with mrkdwn. */
export const alertmanager = {
  channel: '#alerts',
  username: 'Alertmanager',
  attachments: [
    {
      title: '[FIRING:1] DiskWillFill (db-1)',
      title_link: 'https://alerts.example/#/alerts?receiver=chat',
      text: 'The disk of *db-1* is full in 4 hours &lt;soon&gt;',
      fallback: '[FIRING:1] DiskWillFill | https://alerts.example/#/alerts',
      callback_id: '',
      fields: [{ title: 'Severity', value: 'critical', short: true }],
      footer: '',
      color: 'danger',
      mrkdwn_in: ['fallback', 'pretext', 'text'],
    },
  ],
}

export const payloads: Record<string, Payload> = {
  Alertmanager: {
    payload: alertmanager,
    shows: [
      '*[[FIRING:1] DiskWillFill (db-1)](https://alerts.example/#/alerts?receiver=chat)*',
      '4 hours <soon>',
      'critical',
    ],
    color: '#e01e5a',
  },
  Grafana: {
    payload: {
      username: 'Grafana',
      attachments: [
        {
          title: '[FIRING:1] Latency (checkout)',
          title_link: 'https://grafana.example/alerting/list',
          fallback: '[FIRING:1] Latency',
          text: '**Firing**\n\nValue: A=1.7\nLabels:\n - alertname = Latency\n',
          footer: 'Grafana v12.1.0',
          footer_icon: 'https://grafana.example/icon.png',
          color: '#D63232',
          ts: 1_790_000_000,
          image_url: 'https://grafana.example/render.png',
        },
      ],
    },
    shows: [
      '[[FIRING:1] Latency (checkout)](https://grafana.example/alerting/list)',
      'alertname = Latency',
      'Grafana v12.1.0',
      '2026-09-21',
      'https://grafana.example/render.png',
    ],
    color: '#d63232',
  },
  GitLab: {
    payload: {
      username: 'ann (Ann Lee)',
      icon_url: 'https://gitlab.example/avatar.png',
      attachments: [
        {
          color: '#345',
          text: '<https://gitlab.example/team/app/-/commit/1a2b|1a2b>: Fix the queue - Ann Lee',
          fallback: 'push',
        },
      ],
      text: 'Ann Lee pushed to branch <https://gitlab.example/team/app/-/commits/main|main> of <https://gitlab.example/team/app|Team / App>',
    },
    shows: [
      'branch [main](https://gitlab.example/team/app/-/commits/main)',
      '[1a2b](https://gitlab.example/team/app/-/commit/1a2b)',
    ],
    color: '#334455',
  },
  'GitHub Actions': {
    payload: {
      text: 'Build result',
      blocks: [
        { type: 'header', text: { type: 'plain_text', text: 'CI failed', emoji: true } },
        {
          type: 'section',
          fields: [
            { type: 'mrkdwn', text: '*Repository*\n<https://github.example/team/app|team/app>' },
            { type: 'mrkdwn', text: '*Branch*\n`main`' },
          ],
        },
        {
          type: 'actions',
          elements: [
            {
              type: 'button',
              text: { type: 'plain_text', text: 'View run' },
              url: 'https://github.example/team/app/actions/runs/1',
            },
          ],
        },
      ],
    },
    shows: [
      'Build result',
      '*CI failed*',
      '[team/app](https://github.example/team/app)',
      '[View run](https://github.example/team/app/actions/runs/1)',
    ],
    color: null,
  },
  Jenkins: {
    payload: {
      attachments: [
        {
          fallback: 'app - #42 Failure',
          color: 'warning',
          pretext: null,
          text: 'app - #42 Failure after 1 min 2 sec (<https://ci.example/job/app/42/|Open>)',
          mrkdwn_in: ['text'],
          fields: [],
        },
      ],
      channel: 'builds',
    },
    shows: ['#42 Failure after 1 min', '[Open](https://ci.example/job/app/42/)'],
    color: '#ecb22e',
  },
  'Argo CD': {
    payload: {
      attachments: [
        {
          title: 'guestbook',
          title_link: 'https://argocd.example/applications/guestbook',
          color: '#18be52',
          fields: [
            { title: 'Sync Status', value: 'Synced', short: true },
            { title: 'Repository', value: 'https://git.example/guestbook', short: true },
          ],
        },
      ],
      text: 'Application guestbook has been successfully synced',
    },
    shows: [
      'successfully synced',
      '[guestbook](https://argocd.example/applications/guestbook)',
      '*Sync Status*',
      'https://git.example/guestbook',
    ],
    color: '#18be52',
  },
  'Uptime Kuma': {
    payload: {
      text: 'Uptime Kuma Alert',
      channel: null,
      username: 'Uptime Kuma',
      icon_emoji: ':robot:',
      attachments: [
        {
          color: '#e01e5a',
          blocks: [
            { type: 'header', text: { type: 'plain_text', text: 'Uptime Kuma Alert' } },
            {
              type: 'section',
              fields: [
                { type: 'mrkdwn', text: '*Message*\n[shop] [Down] timeout' },
                { type: 'mrkdwn', text: '*Time (UTC)*\n2026-11-22 10:00:00' },
              ],
            },
          ],
        },
      ],
    },
    shows: ['Uptime Kuma Alert', '[shop] [Down] timeout'],
    color: '#e01e5a',
  },
  Sentry: {
    payload: {
      text: '[team] TypeError: x is undefined',
      attachments: [
        {
          color: '#E03E2F',
          blocks: [
            {
              type: 'section',
              block_id: '{"issue":1}',
              text: { type: 'mrkdwn', text: ':red_circle: <https://sentry.example/issues/1/|*TypeError*>' },
            },
            { type: 'section', text: { type: 'mrkdwn', text: '```x is undefined```' } },
            { type: 'context', elements: [{ type: 'mrkdwn', text: 'Project: <https://sentry.example/p/|shop>' }] },
            {
              type: 'actions',
              elements: [
                {
                  type: 'button',
                  action_id: 'resolve',
                  text: { type: 'plain_text', text: 'Resolve' },
                  value: 'resolve',
                },
                { type: 'external_select', placeholder: { type: 'plain_text', text: 'Select Assignee…' } },
              ],
            },
          ],
        },
      ],
    },
    shows: [
      '[*TypeError*](https://sentry.example/issues/1/)',
      '```\nx is undefined\n```',
      '[shop](https://sentry.example/p/)',
      'Resolve',
    ],
    color: '#e03e2f',
  },
  PagerDuty: {
    payload: {
      attachments: [
        {
          fallback: 'Triggered #12',
          color: '#CC0000',
          title: 'Triggered #12: database is unavailable',
          title_link: 'https://pager.example/incidents/12',
          fields: [
            { title: 'Service', value: '<https://pager.example/s/1|Shop>', short: true },
            { title: 'Assigned', value: 'Bob', short: true },
          ],
          actions: [{ name: 'ack', text: 'Acknowledge', type: 'button', value: '12' }],
        },
      ],
    },
    shows: [
      '[Triggered #12: database is unavailable](https://pager.example/incidents/12)',
      '[Shop](https://pager.example/s/1)',
      'Acknowledge',
    ],
    color: '#cc0000',
  },
  Statuspage: {
    payload: {
      text: 'Investigating: <https://status.example/i/1|Slow answers>',
      attachments: [
        {
          color: '#f4b400',
          author_name: 'Example status',
          author_link: 'https://status.example',
          text: 'We look into it.',
          ts: '1790000000',
        },
      ],
    },
    shows: [
      'Investigating: [Slow answers](https://status.example/i/1)',
      '[Example status](https://status.example)',
      'We look into it.',
    ],
    color: '#f4b400',
  },
}
