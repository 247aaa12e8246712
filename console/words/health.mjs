// Words of the health of models.
import { add_words } from '../i18n.mjs';

add_words(
  {
    'health.closed': 'in use',
    'health.half_open': 'on trial',
    'health.open': 'left out',
    'health.about.closed': 'Runs use this model.',
    'health.about.half_open': 'One run tries this model. If it succeeds, all runs use it again.',
    'health.about.open':
      'It failed too often. For 30 seconds, runs with a fall-back model leave it out.',
    'health.since': 'changed',
    'health.failures.one': '{count} failure',
    'health.failures.other': '{count} failures',
  },
  {
    'health.closed': '使用中',
    'health.half_open': '试用中',
    'health.open': '已停用',
    'health.about.closed': '运行会使用此模型。',
    'health.about.half_open': '一个运行正在尝试此模型，成功后所有运行将恢复使用。',
    'health.about.open': '失败次数过多。有备用模型的运行会停用它 30 秒。',
    'health.since': '变更于',
    'health.failures.one': '{count} 次失败',
    'health.failures.other': '{count} 次失败',
  },
);
